#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace zero {

/// How an id stands in a file.
struct IdType {
  const char* name;  ///< "uint16"
  int64_t bytes;

  /// Widens ids.size() ids up to the first that is not in [0, below), and says how many that are.
  size_t (*widen)(const uint8_t* raw, std::span<int32_t> ids, int64_t below);

  /// One id as it stands there, whatever its value; of at most 63 bits.
  int64_t (*value)(const uint8_t* raw);
};

template <class T>
int64_t id_value(const uint8_t* raw) {
  T id;
  memcpy(&id, raw, sizeof(T));
  return int64_t(id);
}

template <class T>
size_t widen_ids(const uint8_t* raw, std::span<int32_t> ids, int64_t below) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = id_value<T>(raw + i * sizeof(T));
    if (id < 0 || id >= below) return i;
    ids[i] = int32_t(id);
  }
  return ids.size();
}

template <class T>
constexpr IdType id_type(const char* name) {
  return {name, sizeof(T), widen_ids<T>, id_value<T>};
}

inline constexpr IdType kUint8 = id_type<uint8_t>("uint8");
inline constexpr IdType kInt8 = id_type<int8_t>("int8");
inline constexpr IdType kInt16 = id_type<int16_t>("int16");
inline constexpr IdType kUint16 = id_type<uint16_t>("uint16");
inline constexpr IdType kInt32 = id_type<int32_t>("int32");
inline constexpr IdType kUint32 = id_type<uint32_t>("uint32");
inline constexpr IdType kInt64 = id_type<int64_t>("int64");

}  // namespace zero
