// SPDX-License-Identifier: Apache-2.0
// A kernel library compiled for this computer, loaded for one rank, so that each rank has its own static variables.
#pragma once

#include <string>
#include <vector>

namespace thalweg {

class LoadedLibrary {
 public:
  /// Loads a copy. Throws std::runtime_error on failure.
  explicit LoadedLibrary(const std::string& file);
  ~LoadedLibrary();
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  [[nodiscard]] const std::string& file() const { return file_; }
  /// Address of a symbol, or null.
  [[nodiscard]] void* symbol(const std::string& name) const;
  /// Source lines, such as "app.cl:7", of the code before an address, innermost inlined function first; empty if unknown or if the
  /// code is not of this library.
  [[nodiscard]] std::vector<std::string> lines(const void* code) const;

 private:
  std::string file_;
  void* handle_ = nullptr;
  const void* base_ = nullptr;  ///< load address
};

}  // namespace thalweg
