#include "step_diff/relaxed.hpp"

#include "step_diff/each_environment.hpp"

namespace featherweight::FW_ISA {

#if !defined(FW_COUNTING)

namespace {

struct OwnContacts {
  ContactList list;
  Memory memory{};
  ~OwnContacts() { release(list.memory), release(memory); }
};

}  // namespace

// How many there are within reach is seen first.
void differentiate_relaxed(const StepDiffJob& job, std::size_t begin, std::size_t end, Memory& memory) {
  OwnContacts own;
  const auto make = [&](Arena& arena) { return SmoothDiff(job, arena); };
  Arena measure(own.memory);
  make(measure);
  if (!measure.fits()) reserve(own.memory, own.memory.required);
  Arena arena(own.memory);
  SmoothDiff smooth = make(arena);
  int most = 1;
  for (std::size_t e = begin; e < end; ++e) {
    if (job.reports[e].failed) continue;
    smooth.start(e);
    smooth.world.place(job.q + e * job.scene->tree.nq, smooth.link_inertias());
    find_within(*job.scene, e, smooth.world.pose, job.reach, own.list);
    most = own.list.count > most ? own.list.count : most;
  }
  differentiate(job, begin, end, memory, [&](Arena& room) { return RelaxedLinearisation(job, most, own.list, room); });
}

#endif

}  // namespace featherweight::FW_ISA
