"""GROMACS's run settings (.mdp) -> what the worker integrates; or every option that it can't honour, at once.

Nothing is dropped in silence: an option is honoured, has no effect on the dynamics, or is refused by name and value.
"""

from __future__ import annotations

import difflib
import math
from typing import Literal, cast

import msgspec

from events.outcome import Refusal
from mdactors.engines.openmm.mdp_table import CANONICAL, FIXED, HONOURED, SHOWN, is_dependant, plain

REMEDY = 'use backend_pref "gromacs"'


class Thermostat(msgspec.Struct, frozen=True, kw_only=True):
    """Stochastic velocity rescaling of the whole system."""

    kelvin: float
    tau_ps: float
    """Relaxation time of the kinetic energy."""
    interval: int
    """Steps between rescalings."""


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What an mdp says, in OpenMM's units (nm, ps, K)."""

    integrator: Literal["md", "sd"] = "md"
    timestep_ps: float = 0.001
    nsteps: int = 0
    """-1: endless."""
    start_ps: float = 0.0
    """Time of step 0: `tinit` plus `init-step` steps."""
    electrostatics: Literal["PME", "cut-off"] = "PME"
    """`cut-off` only means something without charges, which the topology tells."""
    cutoff_nm: float = 1.0
    switch_nm: float | None = None
    """Where the Lennard-Jones potential begins to be switched off; None: a plain cut-off."""
    dispersion_correction: bool = False
    ewald_rtol: float = 1e-5
    fourier_spacing_nm: float = 0.12
    fourier_grid: tuple[int, int, int] = (0, 0, 0)
    """0: by spacing."""
    constraints: Literal["none", "h-bonds", "all-bonds"] = "none"
    constrain_start: bool = True
    """The start configuration is made to satisfy the constraints (`continuation = no`)."""
    thermostat: Thermostat | None = None
    friction_per_ps: float = 0.0
    """For `sd`."""
    kelvin: float = 0.0
    """Bath temperature for `sd`."""
    generate_kelvin: float | None = None
    """Start velocities are drawn at this temperature; None: they come from the coordinate file."""
    velocity_seed: int = -1
    noise_seed: int = -1
    com_interval: int = 100
    """Steps between removals of the centre-of-mass motion; 0: never."""
    energy_steps: int = 1000
    """Steps between rows of the energy log; 0: only the first and the last."""
    trajectory_steps: int = 0
    """0: none."""


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """An mdp as far as it can be honoured, and what can't be."""

    settings: RunSettings
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()


def parse_mdp(text: str, name: str = "mdp") -> Parsed:
    """Read an mdp; `name` is the file's name in refusals. Never raises: what can't be read is refused."""
    reader = _Reader(text, name)
    reader.check_fixed()
    settings = _settings(reader)
    return Parsed(settings=settings, refusals=tuple(reader.refusals), notes=tuple(reader.notes))


def ewald_alpha(cutoff_nm: float, rtol: float) -> float:
    """Return the Ewald splitting parameter alpha in 1/nm that solves erfc(alpha x cutoff) = rtol, as GROMACS does.

    >>> round(ewald_alpha(0.9, 1e-5), 4)
    3.4705
    """
    low, high = 0.0, 10.0 / cutoff_nm
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if math.erfc(middle * cutoff_nm) > rtol else (low, middle)
    return high


def fourier_size(length_nm: float, spacing_nm: float) -> int:
    """Return the smallest even number of grid points, without a prime factor above 5, that is not coarser than asked.

    >>> fourier_size(1.86206, 0.12)
    16
    """
    size = max(6, math.ceil(length_nm / spacing_nm - 1e-3))
    while size % 2 or not _smooth(size):
        size += 1
    return size


def _smooth(number: int) -> bool:
    for prime in (2, 3, 5):
        while number % prime == 0:
            number //= prime
    return number == 1


# ---------------------------------------------------------------- reading


class _Reader:
    """The file's words by canonical name, and what was found wrong on the way."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.refusals: list[Refusal] = []
        self.notes: list[str] = []
        self.values: dict[str, str] = {}
        self.written: dict[str, str] = {}
        for number, line in enumerate(text.splitlines(), 1):
            self._line(number, line.partition(";")[0].strip())

    def _line(self, number: int, line: str) -> None:
        if not line:
            return
        left, equals, right = (part.strip() for part in line.partition("="))
        name = CANONICAL.get(plain(left))
        if not equals or not left:
            self._refuse(f"line {number}: {line!r}", "a setting has the form `name = value`", "correct the line")
        elif name is None and not is_dependant(left):
            self._unknown(left, right)
        elif name is not None and name in self.written:
            self._refuse(
                f"{left} = {right}", f"{self.written[name]} is set before; GROMACS takes an option once", "keep one"
            )
        elif name is not None:
            self.written[name] = left
            if right:  # GROMACS takes an empty right hand side for the default
                self.values[name] = right

    def _unknown(self, left: str, right: str) -> None:
        near = difflib.get_close_matches(plain(left), SHOWN, n=1)
        found = "this is no option that the adapter knows"
        self._refuse(f"{left} = {right}", found, f"did you mean {SHOWN[near[0]]}?" if near else REMEDY)

    def _refuse(self, wanted: str, found: str, remedy: str = REMEDY) -> None:
        if all(refusal.wanted != wanted for refusal in self.refusals):  # the first reason is the telling one
            self.refusals.append(Refusal(subject=self.name, clause="mdp", wanted=wanted, found=found, remedy=remedy))

    def refuse(self, option: str, found: str, remedy: str = REMEDY) -> None:
        """Refuse an option at the value that it has."""
        self._refuse(f"{self.written.get(option, option)} = {self.text(option)}", found, remedy)

    def check_fixed(self) -> None:
        """Refuse whatever is switched on that has to be off."""
        for option, allowed in FIXED.items():
            if option in self.values and not _is_off(self.values[option], allowed):
                self.refuse(option, f"OpenMM is run only with {option} = {allowed[0] or '(empty)'}")

    def text(self, option: str) -> str:
        """Return an option's value, or GROMACS's default."""
        return self.values.get(option, HONOURED.get(option, ""))

    def number(self, option: str) -> float:
        """Return a number; 0 where there is none, which is refused."""
        try:
            value = float(self.text(option))
        except ValueError:
            value = math.nan
        if math.isfinite(value):
            return value
        self.refuse(option, "this is not a number", "correct the value")
        return 0.0

    def integer(self, option: str) -> int:
        """Return a whole number; 0 where there is none, which is refused."""
        try:
            return int(self.text(option))
        except ValueError:
            self.refuse(option, "this is not a whole number", "correct the value")
            return 0

    def interval(self, option: str) -> int:
        """Return a number of steps, 0 for never; a negative one is refused."""
        value = self.integer(option)
        if value < 0:
            self.refuse(option, "it can't be negative", "correct the value")
        return max(0, value)

    def word(self, option: str, choices: tuple[str, ...], found: str = "") -> str:
        """Return which of the choices is meant; the first where it is none of them, which is refused."""
        given = plain(self.text(option))
        for choice in choices:
            if plain(choice) == given:
                return choice
        self.refuse(option, found or f"the adapter knows {', '.join(choices)}")
        return choices[0]

    def yes(self, option: str) -> bool:
        """Return a yes-no option."""
        return self.word(option, ("no", "yes", "false", "true")) in {"yes", "true"}


def _is_off(value: str, allowed: tuple[str, ...]) -> bool:
    words = value.split()
    if "0" in allowed or "1" in allowed:
        return all(_number(word) in {_number(one) for one in allowed if one} for word in words)
    return all(plain(word) in {plain(one) for one in allowed} for word in words)


def _number(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word


# ---------------------------------------------------------------- meaning


def _settings(reader: _Reader) -> RunSettings:
    integrator = cast('Literal["md", "sd"]', reader.word("integrator", ("md", "sd")))
    timestep = _positive(reader, "dt")
    start = reader.number("tinit") + reader.integer("init-step") * timestep
    base = RunSettings(
        integrator=integrator,
        timestep_ps=timestep,
        nsteps=reader.integer("nsteps"),
        start_ps=_on_a_step(reader, start, timestep),
        constrain_start=not reader.yes("continuation"),
        com_interval=_com_interval(reader),
    )
    for part in (_interactions, _velocities, _bath, _output):
        base = part(reader, base)
    return base


def _positive(reader: _Reader, option: str) -> float:
    value = reader.number(option)
    if value > 0:
        return value
    reader.refuse(option, "it has to be greater than 0", "correct the value")
    return 1.0


def _on_a_step(reader: _Reader, start: float, timestep: float) -> float:
    """Trajectory frames carry step x dt as their time: a start between two steps can't be written."""
    if abs(start / timestep - round(start / timestep)) > 1e-4:
        reader.refuse("tinit", "OpenMM's trajectories start at a multiple of dt", "use a multiple of dt")
    return start


def _com_interval(reader: _Reader) -> int:
    mode = reader.word("comm-mode", ("linear", "none"))
    interval = reader.integer("nstcomm")
    if reader.text("comm-grps") and plain(reader.text("comm-grps")) != "system":
        reader.refuse("comm-grps", "OpenMM removes the motion of the whole system only")
    return 0 if mode == "none" or interval == 0 else abs(interval)


def _interactions(reader: _Reader, base: RunSettings) -> RunSettings:
    found = "the adapter knows PME, and cut-off where nothing has a charge"
    electrostatics = cast('Literal["PME", "cut-off"]', reader.word("coulombtype", ("PME", "cut-off"), found))
    cutoff = _positive(reader, "rvdw")
    if abs(_positive(reader, "rcoulomb") - cutoff) > 1e-6:
        reader.refuse(
            "rcoulomb", f"rvdw is {cutoff:g}, and OpenMM has one cut-off for both", "make both equal, or " + REMEDY
        )
    return msgspec.structs.replace(
        _mesh(reader, base) if electrostatics == "PME" else base,
        electrostatics=electrostatics,
        cutoff_nm=cutoff,
        switch_nm=_switch(reader, cutoff),
        dispersion_correction=_dispersion_correction(reader),
        constraints=_constraints(reader),
    )


def _dispersion_correction(reader: _Reader) -> bool:
    if reader.word("DispCorr", ("no", "EnerPres", "Ener")) == "no":
        return False
    reader.notes.append(
        "DispCorr: forces are the same; OpenMM's correction has the repulsion's tail too, a constant that GROMACS adds with AllEner only"
    )
    return True


def _mesh(reader: _Reader, base: RunSettings) -> RunSettings:
    """Without PME these options mean nothing, whatever they say."""
    _mesh_order(reader)
    _coulomb_modifier(reader)
    return msgspec.structs.replace(
        base,
        ewald_rtol=_positive(reader, "ewald-rtol"),
        fourier_spacing_nm=reader.number("fourierspacing"),
        fourier_grid=_grid(reader),
    )


def _grid(reader: _Reader) -> tuple[int, int, int]:
    grid = tuple(reader.integer(f"fourier-n{axis}") for axis in "xyz")
    if min(grid) <= 0 and reader.number("fourierspacing") <= 0:
        reader.refuse(
            "fourierspacing", "without fourier-nx, -ny and -nz it has to be greater than 0", "correct the value"
        )
    return cast("tuple[int, int, int]", grid)


def _mesh_order(reader: _Reader) -> None:
    order = reader.integer("pme-order")
    if order > 5:
        reader.refuse("pme-order", "OpenMM's PME has order 5", "use 4 or 5 with a finer fourierspacing, or " + REMEDY)
    elif order != 5:
        reader.notes.append(f"pme-order = {order}: OpenMM's PME has order 5, which is more accurate on the same grid")


def _coulomb_modifier(reader: _Reader) -> None:
    shifts = ("potential-shift", "potential-shift-verlet")
    if reader.word("coulomb-modifier", (*shifts, "none")) in shifts:
        reader.notes.append(
            "coulomb-modifier: forces are the same; the reported energy lacks GROMACS's shift (about ewald-rtol)"
        )


def _switch(reader: _Reader, cutoff: float) -> float | None:
    shifts = ("potential-shift", "potential-shift-verlet")
    kind = reader.word("vdwtype", ("cut-off", "switch"), "the adapter knows cut-off and switch")
    modifier = (
        "potential-switch" if kind == "switch" else reader.word("vdw-modifier", (*shifts, "none", "potential-switch"))
    )
    if modifier in shifts:
        reader.notes.append(
            "vdw-modifier = potential-shift: forces and dynamics are the same; the reported potential lacks GROMACS's constant shift of each pair"
        )
    if modifier != "potential-switch":
        return None
    start = reader.number("rvdw-switch")
    if not 0 <= start < cutoff:
        reader.refuse("rvdw-switch", f"it has to lie below rvdw = {cutoff:g}", "correct the value")
    return start


def _constraints(reader: _Reader) -> Literal["none", "h-bonds", "all-bonds"]:
    reader.word("constraint-algorithm", ("lincs", "shake"))
    return cast('Literal["none", "h-bonds", "all-bonds"]', reader.word("constraints", ("none", "h-bonds", "all-bonds")))


def _velocities(reader: _Reader, base: RunSettings) -> RunSettings:
    return msgspec.structs.replace(
        base,
        generate_kelvin=reader.number("gen-temp") if reader.yes("gen-vel") else None,
        velocity_seed=reader.integer("gen-seed"),
        noise_seed=reader.integer("ld-seed"),
    )


def _bath(reader: _Reader, base: RunSettings) -> RunSettings:
    coupling = reader.word("tcoupl", ("no", "v-rescale"))
    if base.integrator == "md" and coupling == "no":
        return base
    tau, kelvin = _one_group(reader)
    if base.integrator == "sd":
        if tau <= 0:
            reader.refuse("tau-t", "for sd it has to be greater than 0", "correct the value")
            tau = 1.0
        reader.notes.append(
            f"integrator = sd: run as OpenMM's LangevinMiddle with friction 1/tau-t = {1 / tau:g} per ps"
        )
        return msgspec.structs.replace(base, friction_per_ps=1 / tau, kelvin=kelvin)
    if tau < 0:  # GROMACS: this group is not coupled
        return base
    interval = _coupling_interval(reader, tau, base.timestep_ps)
    return msgspec.structs.replace(base, thermostat=Thermostat(kelvin=kelvin, tau_ps=tau, interval=interval))


def _one_group(reader: _Reader) -> tuple[float, float]:
    if plain(reader.text("tc-grps")) != "system":
        reader.refuse("tc-grps", "OpenMM's bath is coupled to the whole system", "use tc-grps = System, or " + REMEDY)
        return 1.0, 300.0
    kelvin = reader.number("ref-t")
    if kelvin < 0:
        reader.refuse("ref-t", "it can't be negative", "correct the value")
    return reader.number("tau-t"), kelvin


def _coupling_interval(reader: _Reader, tau: float, timestep: float) -> int:
    """Return nsttcouple; -1 is GROMACS's own choice: 10, or fewer where tau is short (5 couplings in tau)."""
    interval = reader.integer("nsttcouple")
    if interval > 0:
        return interval
    if interval != -1:
        reader.refuse("nsttcouple", "it has to be greater than 0, or -1", "correct the value")
    return max(1, min(10, int(tau / (5 * timestep)))) if tau > 0 else 10


def _output(reader: _Reader, base: RunSettings) -> RunSettings:
    compressed, full = reader.interval("nstxout-compressed"), reader.interval("nstxout")
    if full and not compressed:
        reader.notes.append("nstxout: positions are written as xtc (0.001 nm)")
    lost = [name for name in ("nstvout", "nstfout") if reader.integer(name)]
    if lost:
        reader.notes.append(f"{' and '.join(lost)}: velocities and forces are not written along the way")
    if reader.number("compressed-x-precision") != 1000:
        reader.notes.append("compressed-x-precision: the trajectory has 0.001 nm")
    if plain(reader.text("compressed-x-grps")) not in {"", "system"}:
        reader.notes.append("compressed-x-grps: all atoms are written")
    return msgspec.structs.replace(base, energy_steps=reader.interval("nstenergy"), trajectory_steps=compressed or full)
