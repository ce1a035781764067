// SPDX-License-Identifier: Apache-2.0
#include "cluster/description_file.hpp"

#include <array>
#include <fstream>
#include <iomanip>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace thalweg {
namespace {

/// A line's words.
class Line {
 public:
  Line(const std::string& text, std::string where) : from_(text), where_(std::move(where)) {}

  template <class T>
  [[nodiscard]] T next(const char* what) {
    T value{};
    if (!(from_ >> value)) wrong(std::string("not ") + what);
    return value;
  }
  [[nodiscard]] std::string text(const char* what) {
    std::string value;
    if (!(from_ >> std::quoted(value))) wrong(std::string("not ") + what);
    return value;
  }
  template <class T, class Next>
  [[nodiscard]] std::vector<T> rest(Next&& next) {
    std::vector<T> all;
    while (!(from_ >> std::ws).eof()) all.push_back(next());
    return all;
  }
  [[nodiscard]] Values::Value value() {
    const auto type = next<std::string>("a type");
    if (type == "bool") return next<int>("0 or 1") != 0;
    if (type == "int") return next<std::int64_t>("a whole number");
    if (type == "real") return next<double>("a number");
    if (type == "text") return text("a text");
    if (type == "ints") return rest<std::int64_t>([&] { return next<std::int64_t>("whole numbers"); });
    if (type == "texts") return rest<std::string>([&] { return text("texts"); });
    wrong("type " + type + " is not bool, int, real, text, ints or texts");
  }
  void end() {
    if (!(from_ >> std::ws).eof()) wrong("more words than expected");
  }
  [[noreturn]] void wrong(const std::string& why) const {
    throw std::invalid_argument(where_ + ": " + why + "; write it with `thalweg cluster describe`");
  }

 private:
  std::istringstream from_;
  std::string where_;
};

/// A node or link whose values follow.
struct Part {
  bool link = false;
  std::string kind, of;
  std::array<unsigned, 4> ends{};
  Values::Table values{};
};

void add(Description& to, const Part& part) {
  if (part.link)
    to.links.push_back(
        {part.kind, Values(part.of, part.values), part.ends[0], part.ends[1], part.ends[2], part.ends[3]});
  else
    to.nodes.push_back({part.kind, Values(part.of, part.values)});
}

}  // namespace

Description read_description(std::istream& from, const std::string& name) {
  Description made{.ticks_per_second = 0, .clocks = {}, .nodes = {}, .links = {}};
  std::optional<Part> part;
  unsigned number = 0;
  for (std::string text; std::getline(from, text);) {
    Line line(text, name + ":" + std::to_string(++number));
    if (text.starts_with(' ')) {
      if (!part) line.wrong("a value without a node or link");
      const auto of = line.text("a value's name");
      part->values.insert_or_assign(of, line.value());
    } else {
      const auto what = line.next<std::string>("ticks_per_second, clock, node or link");
      if (part) add(made, *part);
      part.reset();
      if (what == "ticks_per_second") {
        made.ticks_per_second = line.next<Tick>("ticks");
      } else if (what == "clock") {
        const auto clock = line.text("a clock's name");
        const auto period = line.next<Tick>("ticks"), phase = line.next<Tick>("ticks");
        made.clocks.push_back({clock, {.period = period, .phase = phase}});
      } else if (what == "node" || what == "link") {
        part.emplace(Part{.link = what == "link", .kind = line.text("a kind"), .of = line.text("a name")});
        if (part->link)
          for (auto& end : part->ends) end = line.next<unsigned>("a node or port");
      } else {
        line.wrong(what + " is not ticks_per_second, clock, node or link");
      }
    }
    line.end();
  }
  if (part) add(made, *part);
  if (made.ticks_per_second <= 0 || made.nodes.empty())
    Line("", name).wrong("a description has ticks_per_second and nodes");
  return made;
}

Description load_description(const std::string& file) {
  std::ifstream from(file);
  if (!from) throw std::invalid_argument(file + " cannot be read; write it with `thalweg cluster describe`");
  return read_description(from, file);
}

}  // namespace thalweg
