// SPDX-License-Identifier: Apache-2.0
// The entries of one node or link in a cluster file: values by name. A kind reads the values that it knows.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace thalweg {

class Values {
 public:
  using Value =
      std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<std::string>>;
  using Table = std::map<std::string, Value, std::less<>>;

  /// `of` names the owner in error messages: `node 3 (hub)`.
  Values(std::string of, Table table) : of_(std::move(of)), table_(std::move(table)) {}

  [[nodiscard]] const std::string& of() const { return of_; }
  [[nodiscard]] bool has(std::string_view name) const { return table_.contains(name); }

  /// Throws std::invalid_argument if it is missing, has another type, or does not fit.
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  [[nodiscard]] T get(std::string_view name) const {
    const auto value = of_type<std::int64_t>(name, "a whole number");
    if (!std::in_range<T>(value)) wrong(name, std::to_string(value) + ", which is out of range");
    return static_cast<T>(value);
  }
  template <std::floating_point T>
  [[nodiscard]] T get(std::string_view name) const {
    if (const auto* whole = std::get_if<std::int64_t>(&find(name))) return static_cast<T>(*whole);
    return static_cast<T>(of_type<double>(name, "a number"));
  }
  template <class T>
    requires std::same_as<T, bool> || std::same_as<T, std::string> || std::same_as<T, std::vector<std::int64_t>> ||
             std::same_as<T, std::vector<std::string>>
  [[nodiscard]] const T& get(std::string_view name) const {
    return of_type<T>(name, std::same_as<T, bool>          ? "true or false"
                            : std::same_as<T, std::string> ? "a text"
                                                           : "a list");
  }

 private:
  [[nodiscard]] const Value& find(std::string_view name) const {
    const auto found = table_.find(name);
    if (found == table_.end()) throw std::invalid_argument(of_ + ": " + std::string(name) + " is missing");
    return found->second;
  }
  template <class T>
  [[nodiscard]] const T& of_type(std::string_view name, const char* what) const {
    const T* value = std::get_if<T>(&find(name));
    if (!value) wrong(name, std::string("not ") + what);
    return *value;
  }
  [[noreturn]] void wrong(std::string_view name, const std::string& what) const {
    throw std::invalid_argument(of_ + ": " + std::string(name) + " is " + what);
  }

  std::string of_;
  Table table_;
};

}  // namespace thalweg
