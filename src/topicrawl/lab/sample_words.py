"""The everyday words of the made-up web: themes that are no topic, and what all pages share.

Nouns are plural (or uncountable) and deeds are plural verb phrases, so that any of them fit together in
a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of one topic or theme, by the role they can take in a sentence."""

    name: str
    words: tuple[str, ...]  # what a person would type to describe the topic
    things: tuple[str, ...]  # plural nouns
    matters: tuple[str, ...]  # plural noun phrases of two words or more
    deeds: tuple[str, ...]  # verb phrases for a plural subject
    traits: tuple[str, ...]  # adjectives
    near: tuple[str, ...] = ()  # topics that are easily confused with it
    share: int = 3  # how much of the web it gets


def listed(text: str) -> tuple[str, ...]:
    """Entries separated by commas, whatever the spaces and line breaks.

    >>> listed("bed nets,   red  cells")
    ('bed nets', 'red cells')
    """
    return tuple(" ".join(entry.split()) for entry in text.split(","))


def _theme(name: str, things: str, matters: str, deeds: str, traits: str) -> Vocabulary:
    return Vocabulary(name, (), listed(things), listed(matters), listed(deeds), listed(traits))


#: What most of the web is about: none of the topics.
THEMES: tuple[Vocabulary, ...] = (
    _theme(
        "town news",
        "councils, streets, bus stops, markets, schools, bridges, mayors, road works, libraries, elections, parks",
        "public meetings, parking fees, new bus routes, school holidays, street festivals, planning permits",
        "open next month, cost more than planned, meet on Tuesdays, close for repairs, divide the town",
        "local,municipal,crowded,delayed,popular,annual",
    ),
    _theme(
        "shopping",
        "shoes, jackets, prices, discounts, parcels, brands, baskets, gifts, sizes, returns, vouchers, kettles",
        "summer sales, free delivery offers, gift cards, leather boots, kitchen sets, new arrivals",
        "sell out within hours, ship in two days, come in five colours, fit almost everyone, include the tax",
        "cheap,stylish,waterproof,new,discounted,handmade",
    ),
    _theme(
        "travel",
        "hotels, islands, beaches, flights, guides, suitcases, ferries, hostels, passports, sunsets, mountains, trains",
        "weekend trips, island ferries, hidden beaches, railway journeys, walking tours, old town hotels",
        "book up early, offer a sea view, leave from the harbour, include breakfast, attract many visitors",
        "sunny,remote,charming,scenic,quiet,coastal",
    ),
    _theme(
        "football",
        "goals, teams, coaches, strikers, leagues, matches, fans, referees, stadiums, penalties, transfers, fixtures",
        "away matches, penalty shoot outs, youth teams, league tables, cup finals, opening games",
        "score in the last minute, lose at home, sign for three years, defend deep, sing all night",
        "injured,unbeaten,defensive,young,tactical,famous",
    ),
    _theme(
        "household money",
        "taxes, loans, savings, banks, pensions, rents, budgets, invoices, mortgages, shares, interests, insurers",
        "monthly budgets, savings accounts, tax returns, energy bills, pension plans, fixed rates",
        "rise with inflation, fall due in March, cover the basics, charge a small fee, lower the monthly cost",
        "fixed,monthly,expensive,taxable,secure,average",
    ),
    _theme(
        "films and music",
        "films, actors, songs, albums, directors, guitars, concerts, scenes, festivals, tickets, trailers, reviews",
        "opening nights, film festivals, live albums, silent films, string quartets, late reviews",
        "open in cinemas on Friday, tour in the autumn, win three awards, divide the critics, last two hours",
        "acoustic,dramatic,classic,live,noisy,independent",
    ),
    _theme(
        "gardening",
        "roses, lawns, seeds, hedges, tomatoes, compost heaps, bees, flower pots, weeds, apples, tools, insects",
        "vegetable beds, spring bulbs, apple trees, water barrels, garden sheds, rose bushes",
        "flower in June, need full sun, attract bees, grow from cuttings, suffer in dry summers",
        "green,leafy,hardy,seasonal,shady,fragrant",
    ),
    _theme(
        "phones and software",
        "phones, screens, updates, passwords, apps, cameras, batteries, cables, laptops, settings, downloads, viruses",
        "security updates, battery savers, photo albums, lost passwords, wireless chargers, mail programs",
        "install in minutes, drain the battery, sync every night, need a restart, support two languages",
        "wireless,slow,secure,portable,digital,outdated",
    ),
)

#: Pages of every kind say these.
BACKGROUND = Vocabulary(
    "background",
    (),
    listed(
        """people, years, reports, places, questions, groups, results, visitors, members, records, ideas,
        pictures, days, letters, plans, problems, methods, numbers, books, friends, changes,
        reasons, examples, articles, families, experts, details, stories, conditions, differences,
        regions, studies, costs, projects"""
    ),
    listed(
        """recent reports, long winters, first attempts, older records, open questions, small groups, local
        experts, early results, common mistakes, public records, good examples, simple methods,
        new studies, many visitors"""
    ),
    listed(
        """change over time, depend on the weather, take more time than expected, differ from place to place,
        make little difference, attract attention, deserve a closer look, remain unclear, matter
        to many people, cost less today, look much the same"""
    ),
    listed("small,large,early,late,common,rare,careful,recent,different,simple,famous,local,useful,possible"),
)

PLACES: tuple[str, ...] = listed(
    """the north, the southern coast, Port Elin, São Bento, Marrowdale, the old harbour, Lake Tessin,
        Orléac, the capital, Karvik, the western islands, Upper Wend, San Telmo, the highlands,
        Bergholt, the delta, Nuevo Prado, the river valley, Tamsui Bay, Kilbrannan, the eastern
        plain, Vallée Noire, Hadlow, the border"""
)

PEOPLE: tuple[str, ...] = listed(
    """a retired teacher, Dr Ines Valdor, the regional office, our correspondent, Professor Amadi, two
        students, the annual report, Mrs Halloran, an old handbook, the society, J. P. Okafor, a
        team of volunteers, the museum, Dr Lindqvist, several readers, the ministry, Tomás Reyes,
        the editor"""
)

AMOUNTS: tuple[str, ...] = listed(
    "some forty,two thirds,almost half,only a few,about a dozen,nearly all,one in ten,over ninety,hundreds"
)

YEARS: tuple[str, ...] = tuple(str(year) for year in range(1894, 2024, 7))
