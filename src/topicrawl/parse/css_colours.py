"""Parse CSS and HTML colours to #rrggbb, and compare text with its background."""

from __future__ import annotations

import colorsys
import re
from functools import lru_cache

#: Value of a fully transparent colour.
TRANSPARENT = "transparent"

#: CSS colour names with their values.
_COLOUR_TABLE = """
aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4
black 000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue 5f9ea0
chartreuse 7fff00 chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff
darkblue 00008b darkcyan 008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9
darkkhaki bdb76b darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000
darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f
darkturquoise 00ced1 darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray 696969 dimgrey 696969
dodgerblue 1e90ff firebrick b22222 floralwhite fffaf0 forestgreen 228b22 fuchsia ff00ff gainsboro dcdcdc
ghostwhite f8f8ff gold ffd700 goldenrod daa520 gray 808080 green 008000 greenyellow adff2f grey 808080
honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa
lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan e0ffff
lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1
lightsalmon ffa07a lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899
lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 magenta ff00ff maroon 800000
mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 mediumpurple 9370db mediumseagreen 3cb371
mediumslateblue 7b68ee mediumspringgreen 00fa9a mediumturquoise 48d1cc mediumvioletred c71585 midnightblue 191970
mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080 oldlace fdf5e6 olive 808000
olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa palegreen 98fb98
paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f pink ffc0cb plum dda0dd
powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue 4169e1
saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d silver c0c0c0
skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa springgreen 00ff7f steelblue 4682b4
tan d2b48c teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 white ffffff
whitesmoke f5f5f5 yellow ffff00 yellowgreen 9acd32
"""
COLOUR_NAMES = {name: f"#{value}" for name, value in re.findall(r"([a-z]+) ([0-9a-f]{6})", _COLOUR_TABLE)}

_HEX_DIGITS = re.compile(r"#?([0-9a-f]{3,8})")
_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^()]*)\)")
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(%|deg)?")
#: Colours with a lower alpha count as transparent.
_MIN_ALPHA = 0.05
#: Text is unreadable if red, green and blue each differ from the background by at most this much (of 255).
_MAX_DIFFERENCE = 16


@lru_cache(maxsize=4096)
def parse_colour(text: str) -> str | None:
    """Parse a colour to #rrggbb or `TRANSPARENT`; return None if the text is not a colour.

    >>> (
    ...     parse_colour("Red"),
    ...     parse_colour("#0f8"),
    ...     parse_colour("rgb(255, 50%, 0)"),
    ...     parse_colour("hsl(240 100% 50%)"),
    ...     parse_colour("00FF00"),
    ... )
    ('#ff0000', '#00ff88', '#ff8000', '#0000ff', '#00ff00')
    >>> parse_colour("rgba(0,0,0,0)"), parse_colour("#12345600"), parse_colour("inherit")
    ('transparent', 'transparent', None)
    """
    text = text.strip().lower()
    if text in COLOUR_NAMES:
        return COLOUR_NAMES[text]
    if text == TRANSPARENT:
        return TRANSPARENT
    if digits := _HEX_DIGITS.fullmatch(text):
        return _parse_hex(digits[1])
    if function := _FUNCTION.fullmatch(text):
        return _parse_function(function[1], function[2])
    return None


@lru_cache(maxsize=4096)
def is_indistinguishable(text_colour: str, background: str) -> bool:
    """Return whether text cannot be distinguished from its background. An image background ("") may have any colour.

    >>> (
    ...     is_indistinguishable("#ffffff", "#fefefe"),
    ...     is_indistinguishable("#ffff00", "#ffffff"),
    ...     is_indistinguishable("transparent", "#000000"),
    ...     is_indistinguishable("#ffffff", ""),
    ... )
    (True, False, True, False)
    """
    if text_colour in (TRANSPARENT, background):
        return True
    if not background:
        return False
    channels = ((int(text_colour[at : at + 2], 16), int(background[at : at + 2], 16)) for at in (1, 3, 5))
    return all(abs(one - other) <= _MAX_DIFFERENCE for one, other in channels)


def _parse_hex(digits: str) -> str | None:
    """Parse the hexadecimal digits of a colour: 3, 4, 6 or 8."""
    if len(digits) in (3, 4):
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) == 8:
        return TRANSPARENT if int(digits[6:], 16) < 255 * _MIN_ALPHA else f"#{digits[:6]}"
    return f"#{digits}" if len(digits) == 6 else None


def _parse_function(kind: str, arguments: str) -> str | None:
    """Parse the arguments of `rgb()`, `rgba()`, `hsl()` or `hsla()`."""
    values = _NUMBER.findall(arguments)
    if len(values) not in (3, 4):
        return None
    numbers = [float(number[:12]) for number, _ in values]
    units = [unit for _, unit in values]
    if len(values) == 4 and numbers[3] / (100 if units[3] == "%" else 1) < _MIN_ALPHA:
        return TRANSPARENT
    if kind == "hsl":
        red, green, blue = colorsys.hls_to_rgb(
            numbers[0] % 360 / 360, _clamp_unit(numbers[2] / 100), _clamp_unit(numbers[1] / 100)
        )
    else:
        red, green, blue = (
            _clamp_unit(n / (100 if unit == "%" else 255)) for n, unit in zip(numbers[:3], units[:3], strict=True)
        )
    return "#" + "".join(f"{int(part * 255 + 0.5):02x}" for part in (red, green, blue))


def _clamp_unit(number: float) -> float:
    """Clamp a number to the range 0 to 1."""
    return min(1.0, max(0.0, number))
