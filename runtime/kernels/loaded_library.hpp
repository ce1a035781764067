// SPDX-License-Identifier: Apache-2.0
// A kernel library compiled for this computer, loaded for one rank: each rank has its own static variables.
#pragma once

#include <string>
#include <vector>

namespace thalweg {

class LoadedLibrary {
 public:
  /// Loads a copy. Throws std::runtime_error where it can't be loaded.
  explicit LoadedLibrary(const std::string& file);
  ~LoadedLibrary();
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  [[nodiscard]] const std::string& file() const { return file_; }
  /// Null where it has none of that name.
  [[nodiscard]] void* symbol(const std::string& name) const;
  /// The source's lines, "app.cl:7", of its code before an address, from inside of what is inlined; none where nobody knows them, or the
  /// code is another's.
  [[nodiscard]] std::vector<std::string> lines(const void* code) const;

 private:
  std::string file_;
  void* handle_ = nullptr;
  const void* base_ = nullptr;  ///< where it lies
};

}  // namespace thalweg
