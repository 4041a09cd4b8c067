#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace zero {

/// FIPS 180-4, by OpenSSL. Bytes may come in pieces of any length.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::span<const std::byte> bytes);
  /// 64 hexadecimal digits; nothing can be added afterwards.
  std::string digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zero
