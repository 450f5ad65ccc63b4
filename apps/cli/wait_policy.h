#pragma once

namespace perfuse::cli {

// Lets idle worker threads sleep instead of spinning: a picture is thousands of short parallel regions, and on a machine that
// has other work, a worker that spins holds the core that the other one waits for (12 times slower at a load of 4
// per core; no slower on an idle machine). libgomp reads its settings once, when it is loaded, so this starts the
// program again with GOMP_SPINCOUNT set, unless the user has set that or OMP_WAIT_POLICY. Where that is not possible
// (no /proc), nothing changes.
void settle_wait_policy(char** arguments);

}  // namespace perfuse::cli
