#!lua name=topicrawl_frontier
-- The shared frontier: every operation is one run of this function, so it happens wholly or not at all. It is kept by
-- the server under a name of its own for each text; a server that is full refuses it before it has begun.
--
-- KEYS[1]  where the crawl's keys begin; all of them carry one hash tag
-- ARGV     epoch, life of the server, time (empty: the server's own), worker, operation, what it needs
--
-- :c           hash   facts, counters and the clock of the crawl
-- :known:<n>   hash   fingerprint → code of a link that is done, dropped or put away; small, so that Redis packs it
-- :links       hash   fingerprint → a link that waits or is out
-- :hosts       hash   host → what politeness knows of it, and the best of its links that wait: most hosts have few
-- :queue:<h>   zset   the other waiting links of a host by score; members are rank + fingerprint
-- :ready       zset   score and rank of its best link + host: hosts that may be asked now. Redis orders them by a number
--                     with few digits, for whatever it is told must be written and read, and what is equal by the bytes
-- :wait        zset   host by the time from which it may be asked
-- :leases      hash   fingerprint → token, host and worker of a link that is out; :ends the same by time, in whole
--                     microseconds: Redis keeps whole numbers as they are, and reads others from their digits every time
-- :reasons     hash   reason → number
-- :attic       hash   number → links that were put away because the queue is too long, packed by a worker; :packs zset
--                     number by the score of the best link in it
-- :workers     hash   worker → when it was heard of last, and what it said of itself
-- the fact `pace` names a zset of all crawls of the server: host by the time before which nobody may ask it; and, with
-- `:wanted` behind it, a hash of the hosts that one crawl has and another one waits for
--
-- A rank is the complement of the number a link was given when it was found: among equal scores the greatest member
-- is the first one found, and that is the one Redis gives first from behind.

local INF, LAST_RANK = 1 / 0, 2 ^ 48 - 1
local LINK, LINK_SIZE = '<ddI6I2I2I2', 28 -- score, first score, number, attempts that failed, depth, length of the text
local LEASE, LEASE_SIZE = '<dI2', 10 -- token, length of the name of the host; then this and the worker
-- A host: flags; where one says so, pages, leased and which marks may be closed, then own delay, last, hold, blocked and
-- due, which none has without those; then its best links: the best one first, and where there are more in its queue, all
-- of them in their order
local PAST, TIMES, TIMES_AT = '<I4I4I4', '<ddddd', 14
local IS_READY, HAS_PAST, HAS_TIMES, HAS_QUEUE, IS_OUT = 1, 2, 4, 8, 16
local HEAD = { [0] = 1, 1, 13, 13, 53, 53, 53, 53 } -- flags → bytes before its links
local STAND, STAND_SIZE, MEMBER = '>dI6c9', 23, '>I6c9' -- score, rank and fingerprint of a link that waits
local ROOM = 8 * STAND_SIZE -- for so many links there is room with their host
-- What is known of a host, in an array: by number it is found sooner than by name. `wake` fills in when it may be asked.
local NAME, PAGES, LEASED, SHUT, MORE, FILED, LINE, SCORE, TOP, CHANGE, STORED = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
local OWN, LAST, HOLD, BLOCKED, DUE, ADDED = 12, 13, 14, 15, 16, 17
local SAVE, FILE, MOVE = 1, 2, 3 -- what is to be done with a host: write it down, see where it belongs, its best link too
-- fingerprint, score, whether it replaces, host; depth, length of the text, text and rest of the place as they are stored
local OFFER = '<c9dBHc0I4c0'
local END = '<dc9dBHc0I4' -- token, fingerprint, wait, unused, reason, number of offers, which follow
local LOAD = 200 -- known links in a bucket on average; the fullest stay below the 512 that Redis packs
local SETTLED, COMPLETED, DROPPED, AWAY = 0, 1, 2, 3
local LATE = 0.2 -- of a lease: nobody starts a request in this last part of it
local FRESH = 4 -- seconds after which a worker asks no host any more by what it was told before
local LATELY = 32 -- leases by whose scores it is judged what is worth fetching
local TURN = 0.25 -- seconds in which a worker of another crawl notices that its turn has come
local AHEAD = 3600 -- seconds for which another crawl may hold a host

-- Facts, and how many of them, from the second on, a run may change.
local NAMES, CHANGED = {
  'epoch', 'life', 'lately', 'outer', 'offset', 'inner', 'crashed', 'next', 'token', 'buckets', 'closed', 'waiting',
  'leased', 'done', 'dropped', 'hosts', 'kept', 'refused', 'away', 'pace', 'delay', 'parallel', 'host_pages', 'lease',
  'attempts', 'capacity', 'pages', 'paused' }, 19

-- The language's own functions that are used much, which are not there yet while the server reads this.
local call, sub, find, byte, char, concat
local pack, unpack_, band, bor, lshift, max, min, floor

local function meet()
  call, sub, find, byte, char, concat = redis.call, string.sub, string.find, string.byte, string.char, table.concat
  pack, unpack_, band, bor, lshift = struct.pack, struct.unpack, bit.band, bit.bor, bit.lshift
  max, min, floor = math.max, math.min, math.floor
end

-- What belongs to one run is set by `begin`.
local ARGV
local base, C, LINKS, HOSTS, READY, WAIT, LEASES, ENDS, REASONS, ATTIC, PACKS, WANTED
local c, before, PARALLEL, HOST_PAGES, worker, dirty, time, now, level
local newest, is_anew -- the number of the link found last; whether the server was started again so lately that hosts rest
local seen, links, changed_links, codes -- hosts and links that were read, and which of the links are to be written
local plain, was -- hosts as they are stored, of which nothing is out and no link has a queue; and as they were before
local kept, kept_count -- links as they are to be written, before those that were changed
local told, unwanted, paces, wants -- what other crawls are told, and what they have said
local texts -- of numbers
local ready_come, ready_gone, wait_come, wait_gone -- scores and members that come, members that go

local function precise(number)
  return string.format('%.17g', number)
end

-- Times that many hosts have in common are written out once.
local function spelled(number)
  local text = texts[number]
  if not text then
    text = precise(number)
    texts[number] = text
  end
  return text
end

-- By name; written out, because a table that grows costs more than all its values.
local function facts_of(f)
  return {
    life = f[2], lately = f[3], outer = tonumber(f[4]), offset = tonumber(f[5]), inner = tonumber(f[6]),
    crashed = tonumber(f[7]), next = tonumber(f[8]), token = tonumber(f[9]), buckets = tonumber(f[10]),
    closed = tonumber(f[11]), waiting = tonumber(f[12]), leased = tonumber(f[13]), done = tonumber(f[14]),
    dropped = tonumber(f[15]), hosts = tonumber(f[16]), kept = tonumber(f[17]), refused = tonumber(f[18]),
    away = tonumber(f[19]), pace = f[20], delay = tonumber(f[21]), parallel = tonumber(f[22]),
    host_pages = tonumber(f[23]), lease = tonumber(f[24]), attempts = tonumber(f[25]), capacity = tonumber(f[26]),
    pages = tonumber(f[27]), paused = tonumber(f[28]) }
end

-- How many of the buckets of known links have been split in this round.
local function round()
  local size = 1
  while size * 2 <= c.buckets do size = size * 2 end
  return size
end

-- Returns whether the crawl is there.
local function begin(keys, argv)
  if not call then meet() end
  ARGV, base = argv, keys[1]
  C, LINKS, HOSTS, READY, WAIT = base .. ':c', base .. ':links', base .. ':hosts', base .. ':ready', base .. ':wait'
  LEASES, ENDS, REASONS = base .. ':leases', base .. ':ends', base .. ':reasons'
  ATTIC, PACKS = base .. ':attic', base .. ':packs'
  local facts = call('HMGET', C, unpack(NAMES))
  if facts[1] ~= ARGV[1] then return false end
  c, before = facts_of(facts), facts
  PARALLEL = c.parallel > 0 and c.parallel or INF
  HOST_PAGES = c.host_pages > 0 and c.host_pages or INF
  WANTED = c.pace .. ':wanted' -- host → when another crawl has asked for it in vain, and which one
  worker, dirty = ARGV[4], ARGV[3] ~= ''
  seen, links, changed_links, codes = {}, {}, {}, {}
  plain, was = {}, {}
  kept, kept_count = {}, 0
  told, unwanted, paces, wants, texts = {}, {}, {}, {}, {}
  ready_come, ready_gone, wait_come, wait_gone = {}, {}, {}, {}
  newest, level = c.next, round()
  return true
end

-- Time: forward only, also when the clock is set back.
local function look_at_the_clock()
  time = tonumber(ARGV[3])
  if not time then
    local now = call('TIME')
    time = now[1] + now[2] / 1e6
  end
  if time < c.outer then
    c.offset = c.offset + c.outer - time
    dirty = true
  end
  c.outer = time
  now = max(c.inner, time + c.offset)
  c.inner = now
  if c.life ~= ARGV[2] then
    -- Another life of the server: the end of its log may be gone, and with it leases whose requests are yet to leave.
    if c.life ~= '' then c.crashed = now + min(FRESH, (1 - LATE) * c.lease) end
    c.life, dirty = ARGV[2], true
  end
  is_anew = c.crashed + c.delay > now
end
