"""``/roofline/{host}``: the roofline model of a host."""
