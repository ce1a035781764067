// SPDX-License-Identifier: Apache-2.0
// A ring in C++20: each rank sends its numbers to the next one and adds the received ones; all ranks receive the total.
#include <smi.hpp>

using app = smi::ports<smi::send_channel<int, 0>, smi::receive_channel<int, 0>, smi::reduce_channel<int, 1, SMI_ADD>,
                       smi::broadcast_channel<int, 2>>;

__kernel void gives(int n, const int* values, SMI_Comm comm) {
  const smi::communicator all(comm);
  app::send<0> next(n, (all.rank() + 1) % all.size(), all);
  next.push_all(values, n);
}

__kernel void takes(int n, int* results, int* total, SMI_Comm comm) {
  const smi::communicator all(comm);
  app::receive<0> before(n, (all.rank() + all.size() - 1) % all.size(), all);
  int sum = 0;
  for (int value : before) sum += * results++ = value;
  app::reduce<1> add(1, 0, all);
  app::broadcast<2> tell(1, 0, all);
  *total = tell.share(add.combine(sum));
}
