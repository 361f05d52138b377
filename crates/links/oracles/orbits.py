#!/usr/bin/env python3
"""Writes crates/links/data/skyfield.json and sgp4-verification.json: passes, look angles and states, without our code.

Needs Skyfield 1.55 and sgp4 2.27, both offline: `python3 -m venv V && V/bin/pip install skyfield==1.55 sgp4==2.27`, then `V/bin/python orbits.py`
in this directory. With `--check` it writes nothing and says what would change; `cargo xtask test differential` does that where it can. Skyfield's table of UT1 - UTC is the one that it ships; it applies neither polar motion nor refraction.

Of the satellites one is real: 57795, cited from the file sagin-experiments/satellite_orbit.py of github.com/hmx615/pq-ntor-experiment. The others
are made up here, in orbits that are like well-known ones. Skyfield finds a pass to half a second, so its own elevations are searched again here.
"""
import json
import sys
from importlib import resources
from pathlib import Path

import sgp4
from skyfield.api import EarthSatellite, load, wgs84

DATA = Path(__file__).resolve().parent.parent / "data"
TS = load.timescale(builtin=True)
MASK = 10.0
STEP = 20.0

SITES = [
    ("document", 18.17, 47.41, 0.0),
    ("Berlin", 52.52, 13.405, 34.0),
    ("Quito", -0.18, -78.47, 2850.0),
    ("Punta Arenas", -53.16, -70.91, 34.0),
    ("Svalbard", 78.23, 15.39, 450.0),
]


def with_checksum(line):
    assert len(line) == 68, (len(line), line)
    return line + str(sum(int(c) if c.isdigit() else c == "-" for c in line) % 10)


def made(number, epoch, bstar, inclination, node, eccentricity, perigee, anomaly, motion):
    """Two lines for a satellite that does not exist."""
    one = f"1 {number:5d}U 25001A   {epoch}  .00000000  00000-0 {bstar} 0  999"
    two = f"2 {number:5d} {inclination:8.4f} {node:8.4f} {round(eccentricity * 1e7):07d} {perigee:8.4f} {anomaly:8.4f} {motion:11.8f}    1"
    return [with_checksum(one), with_checksum(two)]


SATELLITES = [
    ("57795", [
        "1 57795U 23135D   25067.76655111  .00000709  00000-0  38421-3 0  9996",
        "2 57795  49.9742 310.5414 0014096  75.8315 284.4162 14.22760140 78354",
    ]),
    ("like the ISS", made(99001, "25067.50000000", " 20000-3", 51.64, 100.0, 0.0006, 80.0, 30.0, 15.4953)),
    ("polar", made(99002, "25067.25000000", " 10000-3", 90.0, 30.0, 0.001, 120.0, 200.0, 14.5)),
    ("sun-synchronous", made(99003, "25067.00000000", " 50000-4", 98.6, 80.0, 0.0002, 10.0, 5.0, 14.19)),
    ("like Molniya", made(99004, "25067.10000000", " 00000-0", 63.4, 250.0, 0.72, 280.0, 10.0, 2.00612)),
    ("inclined geosynchronous", made(99005, "25067.00000000", " 00000-0", 6.0, 45.0, 0.0003, 30.0, 210.0, 1.00273)),
]
# Where UT1 - UTC is large, -0.39 s in December 2016: shows what leaving it out costs.
LARGE_DUT1 = ("like the ISS, 2016", made(99006, "16350.50000000", " 20000-3", 51.64, 100.0, 0.0006, 80.0, 30.0, 15.4953))

# Near-Earth, high drag, and deep space: resonant and not, Molniya, geosynchronous, low inclination (Lyddane's choice), retrograde.
VERIFICATION = [5, 6251, 8195, 9880, 11801, 14128, 23599, 24208, 26975, 28057, 28350, 29238, 88888]


class View:
    """A satellite from a site, in seconds of UTC from the start of a day."""

    def __init__(self, satellite, site, day):
        self.site = wgs84.latlon(site[1], site[2], elevation_m=site[3])
        self.difference = satellite - self.site
        self.day = day

    def at(self, seconds):
        return self.difference.at(TS.utc(*self.day, 0, 0, seconds))

    def elevation(self, seconds):
        return self.at(seconds).altaz()[0].degrees

    def climb(self, seconds):
        """How fast the elevation grows. Its zero is found far better than a flat peak of the elevation itself."""
        return self.at(seconds).frame_latlon_and_rates(self.site)[3].degrees.per_second

    def look(self, seconds):
        elevation, azimuth, distance, _, _, rate = self.at(seconds).frame_latlon_and_rates(self.site)
        return {"seconds": round(seconds, 4), "azimuth": azimuth.degrees, "elevation": elevation.degrees, "range": distance.km,
                "range_rate": rate.km_per_s}


def crossing(f, low, high):
    """Where f changes its sign, to a tenth of a millisecond."""
    sign = f(low) > 0
    while high - low > 1e-4:
        middle = (low + high) / 2
        if (f(middle) > 0) == sign:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def passes(view, seconds):
    """Passes that begin and end within the window. A pass is searched where the elevation has a peak on a grid of 20 s."""
    grid = [STEP * i for i in range(int(seconds / STEP) + 1)]
    heights = list(view.elevation(grid))
    # Where the satellite is above the mask on the grid, or might be between its points.
    peaks = [crossing(view.climb, grid[i - 1], grid[i + 1]) for i in range(1, len(grid) - 1)
             if heights[i] >= max(heights[i - 1], heights[i + 1]) and heights[i] > MASK - 5]
    knots = sorted([*zip(grid, heights), *((peak, view.elevation(peak)) for peak in peaks)])
    found, rise = [], None
    for (before, low), (after, high) in zip(knots, knots[1:]):
        if (low > MASK) != (high > MASK):
            at = crossing(lambda s: view.elevation(s) - MASK, before, after)
            if high > MASK:
                rise = at
            elif rise is not None:
                peak = max((peak for peak in peaks if rise < peak < at), key=view.elevation)
                found.append({"rise": view.look(rise), "culmination": view.look(peak), "set": view.look(at)})
                rise = None
    return found


def cases():
    for name, lines in [*SATELLITES, LARGE_DUT1]:
        satellite = EarthSatellite(*lines, name, TS)
        day = (2016, 12, 16) if (name, lines) == LARGE_DUT1 else (2025, 3, 9)
        # A satellite that goes round once or twice a day has fewer passes.
        days = 1 if satellite.model.no_kozai * 1440 / 6.2831853 > 5 else 2
        for site in SITES:
            view = View(satellite, site, day)
            yield {
                "satellite": name, "lines": lines, "site": site[0], "latitude": site[1], "longitude": site[2], "height": site[3],
                "start": "%04d-%02d-%02dT00:00:00Z" % day, "days": days, "mask": MASK, "ut1_minus_utc": float(TS.utc(*day).dut1),
                "passes": passes(view, days * 86400), "looks": [view.look(float(s)) for s in range(0, 86400, 7200)],
            }


def verification():
    """Cases of Vallado's verification, from his own files as the sgp4 package has them: SGP4-VER.TLE and the output of his C++ program."""
    folder = resources.files(sgp4)
    lines = [line for line in (folder / "SGP4-VER.TLE").read_text().splitlines() if line and line[0] != "#"]
    elements, states, number = {}, {}, None
    for one, two in zip(lines[::2], lines[1::2]):
        # After column 69 stand the times that he wants.
        elements.setdefault(int(one[2:7]), [one[:69], two[:69]])
    for line in (folder / "tcppver.out").read_text().splitlines():
        fields = line.split()
        if fields[1] == "xx":
            number = int(fields[0])
            states[number] = []
        else:
            minutes, *state = (float(field) for field in fields[:7])
            states[number].append({"minutes": minutes, "position": state[:3], "velocity": state[3:]})
    return [{"lines": elements[number], "states": states[number][:13]} for number in VERIFICATION]


def differences(found, expected, where):
    """Where two values differ by more than another processor's rounding makes."""
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        return [d for key in expected for d in differences(found[key], expected[key], f"{where}.{key}")]
    if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)) and len(found) == len(expected):
        return [d for i, pair in enumerate(zip(found, expected)) for d in differences(*pair, f"{where}[{i}]")]
    if isinstance(expected, float) and isinstance(found, float):
        return [] if abs(found - expected) < 1e-3 else [f"{where} is {expected} in the file, and now {found}"]
    return [] if found == expected else [f"{where} is {expected} in the file, and now {found}"]


def main():
    for name, rows in [("skyfield.json", list(cases())), ("sgp4-verification.json", verification())]:
        path = DATA / name
        if sys.argv[1:] == ["--check"]:
            wrong = differences(rows, json.loads(path.read_text()), name)
            if wrong:
                sys.exit("\n".join(wrong[:10]))
            print(f"{name}: {len(rows)} cases as they were")
        else:
            text = ",\n".join(json.dumps(row) for row in rows)
            path.write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
