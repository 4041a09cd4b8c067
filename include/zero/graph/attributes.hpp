#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "zero/base/error.hpp"

namespace zero::graph {

/// What an op knows beside its tensors: a small struct of its kind's own, whose members have eight
/// bytes each (int64_t, double), so that two ops can be compared and hashed without knowing it.
class Attributes {
 public:
  Attributes() = default;
  template <class T>
  requires(!std::is_same_v<T, Attributes>) Attributes(const T& value) : type_(&kType<T>) {
    static_assert(members<T>() * sizeof(uint64_t) == sizeof(T), "members of eight bytes each");
    const auto own = std::bit_cast<std::array<uint64_t, members<T>()>>(value);
    std::ranges::copy(own, words_.begin());
  }

  /// Throws Error(kInternal) where it is not a T.
  template <class T>
  T as() const {
    ZERO_REQUIRE(type_ == &kType<T>, "attributes of another kind of op");
    std::array<uint64_t, sizeof(T) / sizeof(uint64_t)> own;
    std::copy_n(words_.begin(), own.size(), own.begin());
    return std::bit_cast<T>(own);
  }

  std::span<const uint64_t> words() const { return words_; }
  bool operator==(const Attributes&) const = default;

 private:
  /// Stands for any number, to count members by, those of structs within included.
  struct Any {
    template <class T>
    requires std::is_arithmetic_v<T>
    operator T() const;
  };
  template <class T, size_t... I>
  static constexpr bool takes(std::index_sequence<I...>) {
    return requires { T{(void(I), Any{})...}; };
  }
  template <class T, size_t N = 8>
  static constexpr size_t members() {
    if constexpr (N > 0 && !takes<T>(std::make_index_sequence<N>{})) return members<T, N - 1>();
    return N;
  }
  template <class T>
  static constexpr char kType = 0;

  const void* type_ = nullptr;
  std::array<uint64_t, 8> words_{};
};

}  // namespace zero::graph
