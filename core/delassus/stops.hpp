// delassus/stops.hpp -- where pv_osimr has six rows take the place of many. Plain data.
//
// Few rows travel inward by themselves. Where many have gathered, at a stop, they wait: the six components of the
// link's acceleration travel on in their place, to the next link where rows are added or branches with rows join, which
// is a stop too.
#pragma once

namespace featherweight {

struct Stop {
  int link;            // compiled link
  int inward;          // the stop where its six rows arrive, -1: they reach the world
  int arrivals, last;  // [arrivals, last): the rows outboard of it, in their order
};

// Rows that come to a stop in one piece.
struct StopArrival {
  int begin, end;
  int coupled;  // 1: by another stop, where all of them have been coupled
};

struct StopPlan {
  int n_stops;
  const Stop* stops;   // root to leaf
  const int* of_link;  // the stop whose six rows pass the link's joint, -1: the rows outboard pass it themselves
  const StopArrival* arrivals;
};

}  // namespace featherweight
