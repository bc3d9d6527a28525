#include "runtime/cores.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#ifdef __linux__
#include <sched.h>
#endif

namespace featherweight {
namespace {

constexpr int most_threads = 1024;
constexpr double unlimited = std::numeric_limits<double>::infinity();

int cores_to_run_on() {
#ifdef __linux__
  cpu_set_t set;  // of 1024 cores; with more the call fails
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Version 2 writes "quota period" or "max period" into one file [us].
double quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? quota / period : unlimited;
}
// Version 1 has two files, and -1 for no limit.
double quota_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  return quota_file >> quota && period_file >> period && quota > 0 && period > 0 ? quota / period : unlimited;
}

// The smallest quota of a group and of those around it. Inside a container the path may be that of the host: what is
// not there grants everything.
template <class Quota>
double smallest_quota(const std::string& root, std::string path, const Quota& quota) {
  double smallest = quota(root);
  while (path.size() > 1) {
    smallest = std::min(smallest, quota(root + path));
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
  return smallest;
}

}  // namespace

// Lines of /proc/self/cgroup are number:controllers:path.
double granted_cores(const std::string& proc, const std::string& groups) {
  std::ifstream file(proc + "/self/cgroup");
  double granted = std::min(quota_v2(groups), quota_v1(groups + "/cpu"));
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      path = line.substr(second + 1);
    if (controllers == ",,") granted = std::min(granted, smallest_quota(groups, path, quota_v2));
    if (controllers.find(",cpu,") != std::string::npos)
      for (const char* mount : {"/cpu", "/cpu,cpuacct"})
        granted = std::min(granted, smallest_quota(groups + mount, path, quota_v1));
  }
  return granted;
}

namespace {

int threads_wanted() {
  const char* const text = std::getenv("FEATHERWEIGHT_THREADS");
  if (!text || !*text) return most_threads;
  char* end = nullptr;
  const long n = std::strtol(text, &end, 10);
  if (*end || n < 1)
    throw std::invalid_argument(std::string("FEATHERWEIGHT_THREADS: expected a positive number of threads, got '") +
                                text + "'");
  return static_cast<int>(std::min<long>(n, most_threads));
}

}  // namespace

int available_cores() {
  static const double granted = granted_cores("/proc", "/sys/fs/cgroup");
  const int cores = cores_to_run_on();
  return granted < cores ? std::max(1, static_cast<int>(std::ceil(granted))) : cores;
}

int default_threads() {
  static const int wanted = threads_wanted();
  return wanted;
}

}  // namespace featherweight
