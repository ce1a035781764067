// SPDX-License-Identifier: Apache-2.0
// Interface between compiled HLS kernels and their runtime, which sets a table of functions in each library of kernels. The streams of kernels
// (hls_stream.h, Stream.h) use it.
#pragma once
#pragma GCC system_header

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

struct kernel__loop;

extern "C" {

enum { HLS__CALLS_VERSION = 1, HLS__ABORTS = -1 };

struct hls__location {
  const char* file;
  unsigned line;
};

struct hls__calls {
  /* Makes a stream inside a kernel. */
  void* (*make)(const char* name, unsigned long depth);
  /* Each user of a stream gives the bytes of its words. */
  void (*attach)(void* stream, unsigned long bytes);
  void (*deepen)(void* stream, unsigned long depth);
  void (*push)(void* stream, const void* word, hls__location location);
  void (*pop)(void* stream, void* word, hls__location location);
  int (*try_push)(void* stream, const void* word);
  int (*try_pop)(void* stream, void* word);
  int (*is_full)(void* stream);
  int (*is_empty)(void* stream);
  unsigned long (*size)(void* stream);
  /* Starts a process of a dataflow region, which calls `call(what)`. */
  void* (*begin_process)(const char* name, void (*call)(void* context), void* context);
  void (*join)(void* process, hls__location location);
  /* Loops (kernels/device/loops.h); `from` is the return address. */
  void (*iterate)(kernel__loop* loop, const void* from);
  void (*leave)(kernel__loop* loop);
  void (*begin_pipeline)(kernel__loop* loop, long depth, const void* from);
  void (*pause)(long cycles);
  /* Calls of the C library that end the process, and exceptions. */
  void (*exits)(int code, const void* from);
  void (*throws)(const void* thrown, const void* from);
  /* An access to memory of the board, its host, or an invalid address, before it happens. */
  void (*memory)(unsigned long address, unsigned long bytes, int writes, const void* from);
};

/* Argument of a kernel: a number, the address of memory, or a stream. */
enum hls__kind { HLS__INTEGER, HLS__REAL, HLS__POINTER, HLS__STREAM };
struct hls__argument {
  int kind;
  long long integer;
  double real;
  void* at;
};

/* Symbol of a library of kernels, which also exports void hls__call_NAME(const hls__argument*) for each kernel. */
struct hls__library_type {
  int version;
  const hls__calls* calls;
  unsigned long memory[2], memory_bytes[2]; /* addresses and sizes of the board's and the host's memory */
};
extern hls__library_type hls__library;
}

namespace thalweg_hls {

/// Layout of a word of a stream: by default the bytes of its type.
template <class T>
struct Wire {
  static constexpr std::size_t kBytes = sizeof(T);
  static void pack(const T& value, unsigned char* to) { std::memcpy(to, static_cast<const void*>(&value), kBytes); }
  static T unpack(const unsigned char* from) {
    T value{};
    std::memcpy(static_cast<void*>(&value), from, kBytes);
    return value;
  }
};

/// Existing stream of a kernel's argument.
struct Attached {
  void* stream;
};

struct IsStream {};

/// A stream, made at its first use.
template <class T>
class Stream : public IsStream {
 public:
  Stream(const char* name, unsigned long depth) : name_(name ? name : ""), depth_(depth) {}
  explicit Stream(Attached to) : stream_(to.stream) { calls().attach(stream_, Wire<T>::kBytes); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void push(const T& value, const char* file, unsigned line) {
    unsigned char word[Wire<T>::kBytes];
    Wire<T>::pack(value, word);
    calls().push(stream(), word, {file, line});
  }
  T pop(const char* file, unsigned line) {
    unsigned char word[Wire<T>::kBytes];
    calls().pop(stream(), word, {file, line});
    return Wire<T>::unpack(word);
  }
  bool try_push(const T& value) {
    unsigned char word[Wire<T>::kBytes];
    Wire<T>::pack(value, word);
    return calls().try_push(stream(), word);
  }
  bool try_pop(T& value) {
    unsigned char word[Wire<T>::kBytes];
    if (!calls().try_pop(stream(), word)) return false;
    value = Wire<T>::unpack(word);
    return true;
  }
  bool is_empty() const { return calls().is_empty(stream()); }
  bool is_full() const { return calls().is_full(stream()); }
  std::size_t words() const { return calls().size(stream()); }
  void set_depth(unsigned long depth) { calls().deepen(stream(), depth); }

 private:
  static const hls__calls& calls() { return *hls__library.calls; }
  void* stream() const {
    if (!stream_) {
      stream_ = calls().make(name_.c_str(), depth_);
      calls().attach(stream_, Wire<T>::kBytes);
    }
    return stream_;
  }

  std::string name_;
  unsigned long depth_ = 0;
  mutable void* stream_ = nullptr;
};

// Used in rewritten sources.

/// `#pragma HLS STREAM variable=... depth=...`
template <class Streams>
void set_depth(Streams& streams, unsigned long depth) {
  if constexpr (std::is_array_v<Streams>)
    for (auto& stream : streams) set_depth(stream, depth);
  else
    streams.set_depth(depth);
}

/// A call in a dataflow region, which waits for its end.
template <class Call>
class Process {
 public:
  Process(const char* name, Call call) : call_(std::move(call)) {
    process_ =
        hls__library.calls->begin_process(name, [](void* context) { static_cast<Process*>(context)->call_(); }, this);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  void join(const char* file, unsigned line) { hls__library.calls->join(process_, {file, line}); }

 private:
  Call call_;
  void* process_;
};

// Calls of kernels.

template <class P>
inline constexpr bool kIsStream = std::is_base_of_v<IsStream, std::remove_cv_t<std::remove_reference_t<P>>>;

/// An argument of type P. A number is converted to it.
template <class P, bool = kIsStream<P>>
struct Holder {
  using Value = std::remove_cv_t<std::remove_reference_t<P>>;

  Value value;

  explicit Holder(const hls__argument& from) : value(of(from)) {}
  static Value of(const hls__argument& from) {
    if constexpr (std::is_pointer_v<Value>)
      return static_cast<Value>(from.at);
    else if constexpr (std::is_floating_point_v<Value>)
      return static_cast<Value>(from.kind == HLS__REAL ? from.real : static_cast<double>(from.integer));
    else if constexpr (std::is_enum_v<Value>)
      return static_cast<Value>(from.integer);
    else if constexpr (std::is_constructible_v<Value, long long>)
      return from.kind == HLS__REAL ? static_cast<Value>(from.real) : static_cast<Value>(from.integer);
    else
      throw std::invalid_argument("an argument has a type that a host cannot pass");
  }
  P get() { return static_cast<P>(value); }
};

template <class P>
struct Holder<P, true> {
  using Value = std::remove_cv_t<std::remove_reference_t<P>>;
  static_assert(std::is_reference_v<P>, "a kernel must take a stream by reference");

  Value value;

  explicit Holder(const hls__argument& from) : value(Attached{from.at}) {}
  P get() { return value; }
};

template <class R, class... P, std::size_t... I>
void invoke(R (*kernel)(P...), const hls__argument* arguments, std::index_sequence<I...>) {
  std::tuple<Holder<P>...> holders(arguments[I]...);
  kernel(std::get<I>(holders).get()...);
}
template <class R, class... P>
void invoke(R (*kernel)(P...), const hls__argument* arguments) {
  invoke(kernel, arguments, std::index_sequence_for<P...>{});
}

}  // namespace thalweg_hls
