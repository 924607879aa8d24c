"""How parallel programs spend their time, and the efficiencies that POP defines."""
