// The ledger's sums and its listing.
#include <doctest/doctest.h>

#include "sim/memory/ledger.h"
#include "sim/programs/attention_tensors.h"
#include "tests/sim/attention_schema.h"

using namespace tilescope;

TEST_CASE("ledger: totals are sums over lines, launches and tensors") {
  Ledger ledger(2, 3, attention_tensors());
  ledger.add(0, tensors::k, Link::l2_to_sm, 1, 100);
  ledger.add(0, tensors::k, Link::l2_to_sm, 3, 20);
  ledger.add(1, tensors::k, Link::l2_to_sm, 1, 3);
  ledger.add(1, tensors::o, Link::l2_to_sm, 2, 4000);
  ledger.add(1, tensors::o, Link::hbm_write, 0, 7);
  CHECK(ledger.total(0, tensors::k, Link::l2_to_sm).value == 120);
  CHECK(ledger.total(1, tensors::k, Link::l2_to_sm).value == 3);
  CHECK(ledger.total(tensors::k, Link::l2_to_sm).value == 123);
  CHECK(ledger.total(Link::l2_to_sm).value == 4123);
  CHECK(ledger.total(Link::hbm_write).value == 7);
  CHECK(ledger.total(Link::hbm_read).value == 0);
  CHECK(ledger.table()[Tensor(tensors::o).index()][static_cast<std::size_t>(Link::l2_to_sm)] == 4000);
}

TEST_CASE("ledger: entries come in order and leave out zeros") {
  Ledger ledger(2, 3, attention_tensors());
  ledger.add(1, tensors::o, Link::hbm_write, 0, 7);
  ledger.add(0, tensors::v, Link::hbm_read, 3, 5);
  ledger.add(0, tensors::v, Link::hbm_read, 2, 6);
  ledger.add(0, tensors::q, Link::smem_write, 1, 1);
  ledger.add(0, tensors::q, Link::smem_write, 2, 0);
  const auto entries = ledger.entries();
  REQUIRE(entries.size() == 4);
  CHECK(entries[0].tensor == tensors::q);
  CHECK(entries[1].line == 2);
  CHECK(entries[1].bytes == 6);
  CHECK(entries[2].line == 3);
  CHECK(entries[3].launch == 1);
  CHECK(entries[3].link == Link::hbm_write);
}

TEST_CASE("ledger: devices are kept apart, and sums are over all of them") {
  Ledger ledger(1, 3, attention_tensors(), 2);
  ledger.add(0, tensors::k, Link::hbm_read, 1, 100);
  ledger.add(0, tensors::k, Link::hbm_read, 1, 20, DeviceId{1});
  ledger.add(0, tensors::k, Link::peer_read, 1, 7, DeviceId{1});
  CHECK(ledger.total(DeviceId{0}, tensors::k, Link::hbm_read).value == 100);
  CHECK(ledger.total(DeviceId{1}, tensors::k, Link::hbm_read).value == 20);
  CHECK(ledger.total(Link::hbm_read).value == 120);
  CHECK(ledger.table(DeviceId{1})[Tensor(tensors::k).index()][static_cast<std::size_t>(Link::peer_read)] == 7);
  const auto entries = ledger.entries();
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].device == DeviceId{0});
  CHECK(entries[2].device == DeviceId{1});
  CHECK(to_string(entries[2].link) == "peer_read");
}
