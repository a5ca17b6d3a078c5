// Under the address sanitizer no library is unloaded: leaks are looked for at the end, and what a driver that is gone by then had
// kept for itself would look lost, from an address that no longer has a name.
#if defined(__SANITIZE_ADDRESS__)
extern "C" int dlclose(void*) noexcept {
  return 0;
}
#endif
