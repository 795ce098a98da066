"""Vocabularies of the ten topics of the sample web.

Related topics share words on purpose: the word "mosquitoes" alone must not distinguish dengue from malaria.
"""

from __future__ import annotations

from topicrawl.sample_web.vocabulary import TopicVocabulary, split_entries

DENGUE = TopicVocabulary(
    "dengue fever",
    split_entries("dengue,fever,aedes,mosquito,virus,outbreak,serotype,haemorrhagic"),
    split_entries(
        """mosquitoes, dengue cases, larvae, fevers, outbreaks, patients, viruses, serotypes, platelets,
        vaccines, insecticides, water barrels, clinics, antibodies, infections, dengue wards,
        rashes, aedes eggs, fumigation teams, flower pots, bites, epidemics, blood tests,
        discarded tyres, dengue surveys"""
    ),
    split_entries(
        """Aedes aegypti mosquitoes, severe dengue patients, dengue virus serotypes, breeding sites in
        gutters, dengue haemorrhagic fevers, rainy season outbreaks, falling platelet counts,
        second dengue infections, tiger mosquitoes, house to house inspections, dengue vaccine
        trials, Wolbachia releases, joint and bone pains, dengue early warnings"""
    ),
    split_entries(
        """breed in standing water, bite by day, spread from city to city, follow the rains, carry the dengue
        virus, cause a sudden fever, need fluids and rest, return every few years, lay eggs above
        the water line, fill the hospital wards"""
    ),
    split_entries("feverish,urban,tropical,viral,infected,severe,haemorrhagic,seasonal,mosquito-borne,dengue-prone"),
    ("malaria",),
    5,
)

MALARIA = TopicVocabulary(
    "malaria",
    split_entries("malaria,parasite,anopheles,plasmodium,bed,net,artemisinin,mosquito"),
    split_entries(
        """mosquitoes, malaria parasites, bed nets, fevers, marshes, patients, insecticides, larvae, red
        blood cells, malaria tablets, clinics, infections, quinine doses, village health workers,
        blood smears, chills, sporozoites, spleens, bites, malaria maps, rapid tests,
        antimalarials, anaemic children, swamps"""
    ),
    split_entries(
        """Anopheles mosquitoes, Plasmodium falciparum infections, insecticide treated bed nets, artemisinin
        combination treatments, malaria parasites in the liver, indoor spraying rounds, drug
        resistant parasites, cerebral malaria patients, pregnant women with malaria, malaria
        elimination programmes, drained marshes, sickle cell carriers"""
    ),
    split_entries(
        """bite at night, hide in the liver, resist chloroquine, return every third day, breed in clean
        pools, infect red blood cells, sleep under nets, rest on bedroom walls, lower child
        mortality, carry the parasite"""
    ),
    split_entries("parasitic,endemic,rural,tropical,infected,resistant,nocturnal,feverish,malarial,mosquito-borne"),
    ("dengue fever",),
    3,
)

CORAL = TopicVocabulary(
    "coral reefs",
    split_entries("coral,reef,polyp,bleaching,lagoon,algae,atoll,symbiosis"),
    split_entries(
        """corals, reefs, polyps, atolls, lagoons, reef fish, sea fans, sponges, algae, divers, larvae,
        parrotfish, sea urchins, marine parks, reef surveys, currents, skeletons, coral nurseries,
        islands, clownfish, anemones, tides, giant clams, storms, coral colonies, reef sharks"""
    ),
    split_entries(
        """coral bleaching events, fringing reefs, barrier reefs, staghorn corals, brain corals, symbiotic
        algae in polyps, warm water currents, reef building organisms, crown of thorns starfish,
        coral spawning nights, volcanic island reefs, marine heat waves, limestone skeletons"""
    ),
    split_entries(
        """build limestone skeletons, turn white in warm water, spawn after the full moon, shelter young
        fish, live in shallow lagoons, grow a few millimetres a year, break the waves, feed at
        night, lose their algae, recover within a decade"""
    ),
    split_entries("bleached,shallow,marine,branching,symbiotic,tropical,calcareous,reef-building,underwater,colourful"),
    ("volcanoes",),
    3,
)

VOLCANOES = TopicVocabulary(
    "volcanoes",
    split_entries("volcano,eruption,lava,magma,crater,ash,tephra,caldera"),
    split_entries(
        """volcanoes, eruptions, lava flows, craters, ash clouds, calderas, magma chambers, fumaroles, vents,
        volcanologists, earthquakes, tephra layers, cinder cones, hot springs, islands, lava
        domes, seismographs, pumice stones, mudflows, evacuations, basalt columns, sulphur
        crystals, steam plumes, rocks, hazard maps"""
    ),
    split_entries(
        """pyroclastic flows, shield volcanoes, dormant volcanoes, ash fall deposits, rising magma columns,
        volcanic gas measurements, submarine eruptions, lava lakes, crater rims, volcanic islands,
        strombolian explosions, volcanic hazard warnings, harmonic tremors"""
    ),
    split_entries(
        """erupt without warning, throw ash into the sky, swell before an eruption, release sulphur gases,
        bury whole villages, flow down the slopes, cool into basalt, form new islands, sleep for
        centuries, shake the ground"""
    ),
    split_entries("volcanic,molten,dormant,explosive,basaltic,seismic,active,ash-covered,steep,incandescent"),
    ("coral reefs",),
    3,
)

STEAM = TopicVocabulary(
    "steam locomotives",
    split_entries("steam,locomotive,boiler,railway,tender,firebox,piston,coal"),
    split_entries(
        """locomotives, boilers, fireboxes, tenders, pistons, railways, drivers, firemen, coal heaps,
        whistles, wheels, engine sheds, carriages, turntables, cylinders, valves, signal boxes,
        stations, wagons, couplings, water towers, rails, funnels, museum lines, volunteers, steam
        plumes, bogies, branch lines"""
    ),
    split_entries(
        """narrow gauge railways, express locomotives, superheated boilers, preserved steam railways, driving
        wheels, tank engines, freight locomotives, coal fired boilers, Walschaerts valve gears,
        streamlined engines, locomotive restoration projects, boiler inspections, footplate crews"""
    ),
    split_entries(
        """burn coal by the ton, climb the steep gradient, leave the shed at dawn, pull heavy trains, need a
        new firebox, raise steam for hours, run on summer weekends, blow off at the safety valve,
        take water at every stop, wait for the signal"""
    ),
    split_entries("coal-fired,preserved,riveted,narrow-gauge,superheated,polished,rusty,compound,heavy,steam-driven"),
    ("solar power",),
    3,
)

CHEESE = TopicVocabulary(
    "cheese making",
    split_entries("cheese,curd,rennet,milk,whey,rind,dairy,ripening"),
    split_entries(
        """cheeses, curds, rinds, dairies, cultures, cellars, wheels, goats, cows, moulds, whey tubs, vats,
        cheesemakers, milk churns, brines, presses, starters, cheesecloths, salts, ewes, pastures,
        enzymes, affineurs, wooden boards, tastings, recipes, raw milks, knives"""
    ),
    split_entries(
        """washed rind cheeses, blue moulds, rennet coagulated curds, raw milk cheeses, mountain dairies,
        ripening cellars, hard pressed cheeses, lactic starter cultures, fresh goat cheeses, brine
        baths, cheddar blocks, wheels of alpine cheese, soft ripened cheeses"""
    ),
    split_entries(
        """ripen in damp cellars, separate from the whey, need daily turning, form a natural rind, curdle the
        warm milk, taste of hay and nuts, rest in brine overnight, melt without oil, ferment the
        lactose, win prizes at the dairy show"""
    ),
    split_entries("creamy,ripened,pressed,crumbly,salted,pungent,unpasteurised,fermented,blue-veined,artisan"),
    ("bread baking",),
    3,
)

BREAD = TopicVocabulary(
    "bread baking",
    split_entries("bread,dough,sourdough,flour,yeast,oven,loaf,crust"),
    split_entries(
        """loaves, doughs, ovens, bakers, flours, crusts, yeasts, starters, rolls, crumbs, baguettes, rye
        breads, kneading troughs, proving baskets, mills, grains, salts, cultures, recipes, wooden
        boards, bakeries, bubbles, steam trays, wheat fields, scrapers, ryes, flatbreads, knives"""
    ),
    split_entries(
        """sourdough starters, long cold ferments, wood fired ovens, stone ground flours, open crumb loaves,
        hand shaped baguettes, rye sourdoughs, overnight proofs, gluten networks, steam injected
        ovens, village bakeries, wholemeal loaves"""
    ),
    split_entries(
        """rise overnight, need a hot oven, double in size, crack along the crust, ferment slowly, taste
        slightly sour, keep for a week, start work at three in the morning, stretch without
        tearing, smell of malt"""
    ),
    split_entries("crusty,floury,leavened,sour,wholemeal,kneaded,golden,fermented,oven-fresh,rustic"),
    ("cheese making",),
    2,
)

CHESS = TopicVocabulary(
    "chess",
    split_entries("chess,opening,gambit,endgame,checkmate,grandmaster,bishop,pawn"),
    split_entries(
        """pawns, bishops, knights, rooks, gambits, openings, endgames, grandmasters, tournaments,
        sacrifices, kings, queens, chess clocks, chessboards, variations, draws, blunders, chess
        clubs, problems, matches, ratings, adjournments, pins, forks, opponents, chess engines,
        champions, notations"""
    ),
    split_entries(
        """Sicilian defences, queen side attacks, rook endgames, passed pawns, opposite coloured bishops,
        world championship matches, simultaneous exhibitions, chess problems in three moves,
        positional sacrifices, blindfold games, opening repertoires, correspondence chess players,
        king side castlings"""
    ),
    split_entries(
        """control the centre, end in a draw, lose on time, attack the castled king, promote on the eighth
        rank, decline the gambit, prepare for months, trade queens early, defend a lost position,
        analyse after the game"""
    ),
    split_entries("positional,tactical,drawn,doubled,isolated,castled,winning,unsound,classical,grandmasterly"),
    ("steam locomotives",),
    3,
)

BIRDS = TopicVocabulary(
    "bird migration",
    split_entries("bird,migration,flyway,flock,ringing,stopover,wintering,swallow"),
    split_entries(
        """birds, flocks, swallows, storks, cranes, geese, warblers, flyways, ringers, wings, feathers,
        nests, stopovers, wetlands, marshes, telescopes, satellite tags, estuaries, waders,
        raptors, terns, godwits, bird observatories, migrants, winds, insects, colonies, chicks,
        wintering grounds"""
    ),
    split_entries(
        """long distance migrants, bird ringing stations, autumn migration counts, wintering grounds in the
        south, night flying songbirds, stopover wetlands, migration routes, white storks, arctic
        terns, geomagnetic compasses, soaring raptors, tagged godwits, vagrant birds"""
    ),
    split_entries(
        """fly south in autumn, cross the desert at night, rest on mudflats, return to the same nest, gather
        in noisy flocks, navigate by the stars, feed before the crossing, ride the warm
        updraughts, arrive in late spring, moult in summer"""
    ),
    split_entries("migratory,winged,ringed,juvenile,nocturnal,coastal,wintering,feathered,northbound,far-flying"),
    ("coral reefs",),
    3,
)

SOLAR = TopicVocabulary(
    "solar power",
    split_entries("solar,panel,photovoltaic,inverter,silicon,sunlight,grid,module"),
    split_entries(
        """solar panels, inverters, modules, batteries, rooftops, cells, silicon wafers, grids, meters,
        installers, tariffs, solar farms, cables, mirrors, heat pumps, kilowatts, shadows,
        mounting rails, engineers, sunny hours, power stations, storage tanks, turbines,
        subsidies, boilers, trackers, warranties"""
    ),
    split_entries(
        """photovoltaic modules, rooftop solar arrays, thin film cells, solar thermal collectors, grid tied
        inverters, lithium battery banks, monocrystalline silicon wafers, feed in tariffs,
        concentrating solar plants, sun tracking mounts, village solar schemes, solar steam
        boilers"""
    ),
    split_entries(
        """turn sunlight into current, feed the grid at noon, lose efficiency in the heat, face south, pay
        back within eight years, charge the batteries, follow the sun, need cleaning after dust
        storms, work under thin clouds, degrade half a percent a year"""
    ),
    split_entries(
        "photovoltaic,sunny,crystalline,renewable,rooftop,efficient,grid-connected,solar-heated,off-grid,bright"
    ),
    ("steam locomotives",),
    3,
)

TOPICS: tuple[TopicVocabulary, ...] = (
    *(DENGUE, MALARIA, CORAL, VOLCANOES, STEAM),
    *(CHEESE, BREAD, CHESS, BIRDS, SOLAR),
)
