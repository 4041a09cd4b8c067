#pragma once
/// Results of a library, problem by problem: objects made for it, and the best algorithm, kept in a
/// file between runs. Nothing here knows the library; an algorithm is its 64 opaque bytes.

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zero::kernels::vendor {

/// A table of values made at the first use of their keys. Keys are few, so they are searched one by
/// one. Threads that share a table lock it.
template <class Key, class Value>
class MadeOnce {
 public:
  /// Returns the value of a key, made by make(key). The reference holds until a key beyond kMost
  /// comes, which empties the table.
  template <class Make>
  Value& get(const Key& key, const Make& make) {
    for (const auto& entry : entries_)
      if (entry->key == key) return entry->value;
    if (entries_.size() == kMost) entries_.clear();
    entries_.push_back(std::make_unique<Entry>(Entry{key, make(key)}));
    return entries_.back()->value;
  }

  size_t size() const { return entries_.size(); }

  /// The most keys; no model here has as many.
  static constexpr size_t kMost = 256;

 private:
  struct Entry {
    Key key;
    Value value;
  };
  std::vector<std::unique_ptr<Entry>> entries_;
};

/// A measured algorithm of one product.
struct Algorithm {
  std::array<std::byte, 64> description;
  float microseconds;
};

/// A table in memory that a file keeps, one line an entry, to which several processes add. A line
/// is one append with its own check sum, so torn and foreign lines are skipped. Entries of another
/// machine (GPU and library version) are not seen. A file that cannot be read or written only costs
/// measuring again. Thread-safe.
class AlgorithmCache {
 public:
  /// Reads the file at `path` and makes its folder if need be; "" keeps nothing. REQUIRES:
  /// `machine` and problems hold no tab and no line feed.
  AlgorithmCache(std::string path, std::string machine);

  std::optional<Algorithm> find(const std::string& problem) const;
  /// Reads the lines added to the file since the last read.
  void read_on();
  /// Replaces an entry; the last line of a file counts.
  void keep(const std::string& problem, const Algorithm& algorithm);

  /// Returns the number of lines of the file that were skipped as damaged.
  int damaged_lines() const {
    const std::lock_guard lock(mutex_);
    return damaged_lines_;
  }

  /// A lock on the file, so ranks that come to a problem together measure it once and go on alike.
  /// Waits for at most `milliseconds_most`, because the holder may be a peer that waits for this
  /// rank; measuring twice costs less than waiting for ever. A thread has one at a time.
  class Turn {
   public:
    static constexpr int kMillisecondsMost = 5000;
    explicit Turn(const AlgorithmCache& cache, int milliseconds_most = kMillisecondsMost);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    /// True if this is the only Turn; never without a file that can be locked.
    bool alone() const { return alone_; }

   private:
    int file_;
    bool alone_ = false;
  };

  /// A file that has grown beyond this is neither read nor added to.
  static constexpr size_t kBytesMost = size_t(4) << 20;

 private:
  void read_line(std::string_view line);

  std::string path_, machine_;
  mutable std::mutex mutex_;
  size_t read_bytes_ = 0;
  std::map<std::string, Algorithm> known_;
  int damaged_lines_ = 0;
};

// The fastest of several ways to compute one thing, measured once, then kept.

struct Way {
  std::string name;                             ///< name in the cache
  std::function<bool(const Algorithm&)> takes;  ///< true if a kept algorithm can still run
  /// Returns the way's best algorithm and time; none if it cannot be done here.
  std::function<std::optional<Algorithm>()> measure;
};

struct FastestWay {
  size_t way;
  Algorithm algorithm;
};

/// Returns the first of the fastest ways. Measures and keeps ways without a time in `cache`, or
/// with an algorithm no longer taken. Only one of the processes that share the file measures. Keeps
/// an impossible way as an infinite time. Throws Error(kInternal) if no way is possible.
FastestWay fastest_way(AlgorithmCache& cache, std::span<const Way> ways);

}  // namespace zero::kernels::vendor
