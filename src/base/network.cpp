#include "zero/base/network.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace zero {
namespace {

/// The kernel sends again after 0.2 s, and then each time after twice as long.
constexpr unsigned kMuteAfter = 3;
/// States of a connection in the kernel's table: it is there, or is being made.
constexpr unsigned kEstablished = 1, kBegun = 2;
/// A timer that waits for an answer to what was sent.
constexpr unsigned kSendsAgain = 1;

std::string text_of(int family, const void* bytes) {
  char out[INET6_ADDRSTRLEN] = "";
  inet_ntop(family, bytes, out, sizeof out);
  const std::string address = out;
  const std::string mapped = "::ffff:";
  return address.starts_with(mapped) ? address.substr(mapped.size()) : address;
}

/// Returns the address of "0100004E:1F90", whose words of 32 bits have the bytes of memory.
std::string address_of(const std::string& word) {
  constexpr size_t kDigits = 8;
  const size_t words = word.find(':') / kDigits;
  std::array<uint32_t, 4> memory{};
  if (words != 1 && words != memory.size()) return "";
  for (size_t i = 0; i < words; ++i) {
    memory[i] = uint32_t(std::strtoul(word.substr(i * kDigits, kDigits).c_str(), nullptr, 16));
  }
  return text_of(words == 1 ? AF_INET : AF_INET6, memory.data());
}

std::string whole(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::vector<OwnAddress> own_addresses() {
  ifaddrs* first = nullptr;
  std::vector<OwnAddress> found;
  if (getifaddrs(&first) != 0) return found;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto* const four = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    const auto* const six = reinterpret_cast<const sockaddr_in6*>(at->ifa_addr);
    const std::string address =
        family == AF_INET ? text_of(family, &four->sin_addr) : text_of(family, &six->sin6_addr);
    found.push_back({address, at->ifa_name});
  }
  freeifaddrs(first);
  return found;
}

std::vector<Connection> connections_in(std::string_view table) {
  std::istringstream lines{std::string(table)};
  std::vector<Connection> found;
  for (std::string line; std::getline(lines, line);) {
    char own[64] = "", peer[64] = "";
    unsigned state = 0, queued = 0, timer = 0, again = 0;
    const int read = std::sscanf(line.c_str(), "%*d: %63s %63s %x %x:%*x %x:%*x %x", own, peer,
                                 &state, &queued, &timer, &again);
    if (read != 6 || (state != kEstablished && state != kBegun)) continue;
    found.push_back({.own = address_of(own),
                     .peer = address_of(peer),
                     .queued_bytes = queued,
                     .is_mute = timer == kSendsAgain && again >= kMuteAfter});
  }
  return found;
}

std::vector<Connection> own_connections() {
  return connections_in(whole("/proc/self/net/tcp") + whole("/proc/self/net/tcp6"));
}

}  // namespace zero
