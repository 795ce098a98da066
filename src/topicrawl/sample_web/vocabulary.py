"""Vocabulary of the sample web: everyday themes and the background words that all pages share.

Nouns are plural or uncountable, and verb phrases are plural, so that any of them can be combined in a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopicVocabulary:
    """Words of one topic or theme, by their role in a sentence."""

    name: str
    words: tuple[str, ...]  # keywords that a user would type to describe the topic
    nouns: tuple[str, ...]  # plural nouns
    noun_phrases: tuple[str, ...]  # plural noun phrases of two words or more
    verb_phrases: tuple[str, ...]  # verb phrases for a plural subject
    adjectives: tuple[str, ...]  # adjectives
    related_topics: tuple[str, ...] = ()  # topics that are easily confused with this one
    host_share: int = 3  # relative number of specialist hosts


def split_entries(text: str) -> tuple[str, ...]:
    """Split a comma-separated list and normalise its white space.

    >>> split_entries("bed nets,   red  cells")
    ('bed nets', 'red cells')
    """
    return tuple(" ".join(entry.split()) for entry in text.split(","))


def _build_theme(name: str, nouns: str, noun_phrases: str, verb_phrases: str, adjectives: str) -> TopicVocabulary:
    return TopicVocabulary(
        name,
        (),
        split_entries(nouns),
        split_entries(noun_phrases),
        split_entries(verb_phrases),
        split_entries(adjectives),
    )


#: Themes of the pages off all topics, which are most of the web.
THEMES: tuple[TopicVocabulary, ...] = (
    _build_theme(
        "town news",
        "councils, streets, bus stops, markets, schools, bridges, mayors, road works, libraries, elections, parks",
        "public meetings, parking fees, new bus routes, school holidays, street festivals, planning permits",
        "open next month, cost more than planned, meet on Tuesdays, close for repairs, divide the town",
        "local,municipal,crowded,delayed,popular,annual",
    ),
    _build_theme(
        "shopping",
        "shoes, jackets, prices, discounts, parcels, brands, baskets, gifts, sizes, returns, vouchers, kettles",
        "summer sales, free delivery offers, gift cards, leather boots, kitchen sets, new arrivals",
        "sell out within hours, ship in two days, come in five colours, fit almost everyone, include the tax",
        "cheap,stylish,waterproof,new,discounted,handmade",
    ),
    _build_theme(
        "travel",
        "hotels, islands, beaches, flights, guides, suitcases, ferries, hostels, passports, sunsets, mountains, trains",
        "weekend trips, island ferries, hidden beaches, railway journeys, walking tours, old town hotels",
        "book up early, offer a sea view, leave from the harbour, include breakfast, attract many visitors",
        "sunny,remote,charming,scenic,quiet,coastal",
    ),
    _build_theme(
        "football",
        "goals, teams, coaches, strikers, leagues, matches, fans, referees, stadiums, penalties, transfers, fixtures",
        "away matches, penalty shoot outs, youth teams, league tables, cup finals, opening games",
        "score in the last minute, lose at home, sign for three years, defend deep, sing all night",
        "injured,unbeaten,defensive,young,tactical,famous",
    ),
    _build_theme(
        "household money",
        "taxes, loans, savings, banks, pensions, rents, budgets, invoices, mortgages, shares, interests, insurers",
        "monthly budgets, savings accounts, tax returns, energy bills, pension plans, fixed rates",
        "rise with inflation, fall due in March, cover the basics, charge a small fee, lower the monthly cost",
        "fixed,monthly,expensive,taxable,secure,average",
    ),
    _build_theme(
        "films and music",
        "films, actors, songs, albums, directors, guitars, concerts, scenes, festivals, tickets, trailers, reviews",
        "opening nights, film festivals, live albums, silent films, string quartets, late reviews",
        "open in cinemas on Friday, tour in the autumn, win three awards, divide the critics, last two hours",
        "acoustic,dramatic,classic,live,noisy,independent",
    ),
    _build_theme(
        "gardening",
        "roses, lawns, seeds, hedges, tomatoes, compost heaps, bees, flower pots, weeds, apples, tools, insects",
        "vegetable beds, spring bulbs, apple trees, water barrels, garden sheds, rose bushes",
        "flower in June, need full sun, attract bees, grow from cuttings, suffer in dry summers",
        "green,leafy,hardy,seasonal,shady,fragrant",
    ),
    _build_theme(
        "phones and software",
        "phones, screens, updates, passwords, apps, cameras, batteries, cables, laptops, settings, downloads, viruses",
        "security updates, battery savers, photo albums, lost passwords, wireless chargers, mail programs",
        "install in minutes, drain the battery, sync every night, need a restart, support two languages",
        "wireless,slow,secure,portable,digital,outdated",
    ),
)

#: Background words of all pages.
BACKGROUND = TopicVocabulary(
    "background",
    (),
    split_entries(
        """people, years, reports, places, questions, groups, results, visitors, members, records, ideas,
        pictures, days, letters, plans, problems, methods, numbers, books, friends, changes,
        reasons, examples, articles, families, experts, details, stories, conditions, differences,
        regions, studies, costs, projects"""
    ),
    split_entries(
        """recent reports, long winters, first attempts, older records, open questions, small groups, local
        experts, early results, common mistakes, public records, good examples, simple methods,
        new studies, many visitors"""
    ),
    split_entries(
        """change over time, depend on the weather, take more time than expected, differ from place to place,
        make little difference, attract attention, deserve a closer look, remain unclear, matter
        to many people, cost less today, look much the same"""
    ),
    split_entries("small,large,early,late,common,rare,careful,recent,different,simple,famous,local,useful,possible"),
)

PLACES: tuple[str, ...] = split_entries(
    """the north, the southern coast, Port Elin, São Bento, Marrowdale, the old harbour, Lake Tessin,
        Orléac, the capital, Karvik, the western islands, Upper Wend, San Telmo, the highlands,
        Bergholt, the delta, Nuevo Prado, the river valley, Tamsui Bay, Kilbrannan, the eastern
        plain, Vallée Noire, Hadlow, the border"""
)

PEOPLE: tuple[str, ...] = split_entries(
    """a retired teacher, Dr Ines Valdor, the regional office, our correspondent, Professor Amadi, two
        students, the annual report, Mrs Halloran, an old handbook, the society, J. P. Okafor, a
        team of volunteers, the museum, Dr Lindqvist, several readers, the ministry, Tomás Reyes,
        the editor"""
)

AMOUNTS: tuple[str, ...] = split_entries(
    "some forty,two thirds,almost half,only a few,about a dozen,nearly all,one in ten,over ninety,hundreds"
)

YEARS: tuple[str, ...] = tuple(str(year) for year in range(1894, 2024, 7))
