// forces/forces.hpp -- the impulses of the last step of a batch, as they are read.
//
// Steps start from the impulses that the solver left, whatever they were. Who reads them gets the least that do the
// same (least_norm.hpp): a function of the state, so it is computed when it is asked for, and steps pay nothing.
#pragma once
#include "step/environments.hpp"
#include "step/step_records.hpp"

namespace featherweight {

struct ReadImpulses {
  std::vector<double> contacts;        // six per contact of all environments: along t1, t2, n and about them
  std::vector<double> joints;          // of joint rows and rows of closures, per environment
  std::vector<double> strut_travels;   // per environment, where rows are along struts: see CarriedRows
  std::vector<unsigned char> sliding;  // per contact, frictions on their bound: 1 sliding, 2 spinning, 4 rolling
};

ReadImpulses read_impulses(Environments& environments, int n_threads);
// Of the first n_rows of records, row by row and in each all environments. start: those that were rolled out.
ReadImpulses read_impulses(Environments& start, const StepRecords& records, int n_rows, int n_threads);

// The same in the place of those of the solver, with the modes that go with them.
void replace_impulses(const ReadImpulses& read, Environments& environments, KeptSolutions& kept);

// How far closures are from closed, where the environments are now: of each row [m or rad], per environment.
std::vector<double> closure_errors(Environments& environments);

}  // namespace featherweight
