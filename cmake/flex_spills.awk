# Turns kernels/flex/spills.txt into the table that sim/programs/flex_spills.h declares. Run at build time.
#   awk -f flex_spills.awk kernels/flex/spills.txt
# The file has a line "key block tile columns partial sight rescaling end" for each kernel, in the order of the keys.

BEGIN {
  print "// Generated at build time from kernels/flex/spills.txt."
  print "#include \"sim/programs/flex_spills.h\""
  print "\nnamespace tilescope {\n"
  print "std::span<const FlexSpillsRow> flex_spills() {\n  static constexpr FlexSpillsRow rows[] = {"
}

/^#/ { next }

NF != 8 || $1 !~ /^[0-9a-f]+$/ || ($1 "") <= (last "") {
  print "flex_spills.awk: line " FNR " is no row, or not in order: " $0 > "/dev/stderr"
  failed = 1
  exit 1
}

{
  last = $1
  print "      {0x" $1 "U, {" $2 ", " $3 ", " $4 ", " $5 ", " $6 ", " $7 ", " $8 "}},"
}

END {
  if (failed) exit 1
  print "  };\n  return rows;\n}\n\n}  // namespace tilescope"
}
