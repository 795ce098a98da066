#!lua name=topicrawl_frontier
-- Shared frontier. Every operation is one call of this function, so it is atomic. The server stores the function under
-- a name that contains a hash of this text. A server that is full rejects the call before it starts.
--
-- KEYS[1]  prefix of the keys of the crawl; all of them have the same hash tag
-- ARGV     epoch, run id of the server, time (empty: the clock of the server), worker, operation, its arguments
--
-- :c           hash   facts, counters and the clock of the crawl
-- :known:<n>   hash   fingerprint → code of a link that is done, dropped or in the overflow; small enough for Redis to
--                     store it as a listpack
-- :links       hash   fingerprint → waiting or leased link
-- :hosts       hash   host → its politeness state and its best waiting links; most hosts have few links
-- :queue:<h>   zset   the other waiting links of a host by score; members are rank + fingerprint
-- :ready       zset   ready hosts; members are score and rank of the best link + host. The zset score is a number with
--                     few digits, because Redis formats and parses scores as text. Redis orders equal scores by member.
-- :wait        zset   delayed hosts by the time when they are ready
-- :pending     zset   hosts that are not ready now, by the score of their best link if it is positive. Workers of older
--                     versions do not update it: `find_best_pending` removes hosts that are not pending.
-- :flight      zset   fingerprints of leased links by score if it is positive; the same applies
-- :leases      hash   fingerprint → token, host and worker of a leased link
-- :ends        zset   fingerprint by the end of the lease, in whole microseconds: Redis stores integers directly, but
--                     parses other numbers from their digits each time
-- :completed:<worker>, :completed:<worker>:old
--              hash   fingerprint → link that the worker has completed: its pages may not be synced to the disk of the
--                     worker yet, so a power failure may remove them
-- :confirmed   hash   worker → its last confirmation that its pages are synced
-- :reasons     hash   reason → number
-- :attic       hash   number → pack of links in the overflow, compressed by a worker
-- :packs       zset   number of a pack by the score of its best link
-- :workers     hash   worker → time of its last heartbeat, and its report
-- The fact `pace` names a zset that all crawls of the server share: host by the time until which it is busy. The key
-- with the suffix `:wanted` is a hash of the hosts that one crawl uses and another one waits for.
--
-- The rank of a link is the complement of its sequence number: among equal scores the greatest member is the first one
-- found, and a reverse range returns it first.

local INF, LAST_RANK = 1 / 0, 2 ^ 48 - 1
-- Link: score, first score, sequence number, failed attempts, depth, length of the text; then text and priority
local LINK, LINK_SIZE = '<ddI6I2I2I2', 28
local LEASE, LEASE_SIZE = '<dI2', 10 -- token, length of the host name; then host name and worker
-- Host: flags; with HAS_COUNTS pages, leased links and a bit set of closed fingerprints; with HAS_TIMES own delay, last
-- lease, hold, block and wait times, which imply the counts; then its best links. The first one is the best. If the
-- host has a queue, all of them are sorted.
local COUNTS, TIMES, TIMES_AT = '<I4I4I4', '<ddddd', 14
local IS_READY, HAS_COUNTS, HAS_TIMES, HAS_QUEUE, IS_LEASED = 1, 2, 4, 8, 16
local HEADER_SIZES = { [0] = 1, 1, 13, 13, 53, 53, 53, 53 } -- header size by flags
local RANKED_LINK, RANKED_SIZE, MEMBER = '>dI6c9', 23, '>I6c9' -- score, rank and fingerprint of a waiting link
local MAX_BEST_SIZE = 8 * RANKED_SIZE -- size of the best links that are stored with their host
-- Fields of a host, which is an array because access by number is faster. `load_times` fills in the last six.
local NAME, PAGES, LEASED, CLOSED_BITS, HAS_MORE, READY_RANK = 1, 2, 3, 4, 5, 6
local BEST_LINKS, SCORE, TOP, CHANGE, STORED = 7, 8, 9, 10, 11
local OWN_DELAY, LAST_LEASE, HOLD_UNTIL, BLOCKED_UNTIL, WAIT_UNTIL, QUEUE_ADDED = 12, 13, 14, 15, 16, 17
-- Pending change of a host: write it, also update its schedule, also because of another best link
local SAVE, RESCHEDULE, NEW_BEST = 1, 2, 3
-- fingerprint, score, replace flag, host; then depth, length of the text, text and priority, as they are stored
local OFFER = '<c9dBHc0I4c0'
local COMPLETION = '<dc9dBHc0I4' -- token, fingerprint, wait, unused, reason, number of offers; then the offers
local LINKS_PER_BUCKET = 200 -- average; the fullest buckets stay below the 512 entries of a Redis listpack
local MARKED_DONE, COMPLETED, DROPPED, IN_OVERFLOW = 0, 1, 2, 3
local LATE_SHARE = 0.2 -- last part of a lease, in which workers start no requests
local CONFIRMATION_SECONDS = 4 -- time for which a worker may rely on the last confirmation of a lease
local HANDOVER_SECONDS = 0.25 -- time in which a worker of another crawl notices that a host is free
local MAX_HOLD_SECONDS = 3600 -- maximum time for which another crawl may hold a host

-- Names of the facts. A call may change those from the second one to number CHANGEABLE.
local FACT_NAMES, CHANGEABLE = {
  'epoch', 'life', 'outer', 'offset', 'inner', 'crashed', 'next', 'token', 'buckets', 'closed', 'waiting',
  'leased', 'done', 'dropped', 'hosts', 'kept', 'refused', 'away', 'pace', 'delay', 'parallel', 'host_pages', 'lease',
  'attempts', 'capacity', 'pages', 'paused' }, 18

-- Aliases of frequently used library functions. They are not defined yet when the server loads this text.
local call, sub, find, byte, char, concat
local pack, unpack_, band, bor, lshift, max, min, floor

local function load_builtins()
  call, sub, find, byte, char, concat = redis.call, string.sub, string.find, string.byte, string.char, table.concat
  pack, unpack_, band, bor, lshift = struct.pack, struct.unpack, bit.band, bit.bor, bit.lshift
  max, min, floor = math.max, math.min, math.floor
end

-- State of one call, which `begin_call` initialises.
local ARGV
local prefix, FACTS, LINKS, HOSTS, READY, WAIT, PENDING, FLIGHT, LEASES, ENDS, REASONS, OVERFLOW, PACKS, WANTED
local crawl, stored_facts, PARALLEL, HOST_PAGES, worker, dirty, time, now, level
local last_number -- sequence number of the link that was found last
local is_recovering -- whether all hosts must still wait because of a restart of the server
local loaded_hosts, links, changed_links, reason_codes -- decoded hosts and links; links to be written; codes of reasons
local encoded_hosts -- hosts without leased links and without a queue, in their stored form
local previous_hosts -- stored form of changed `encoded_hosts` before this call; true: only appended to
local written_links, written_count -- encoded links to be written, besides `changed_links`
local announcements, cleared_wants -- host → time until which it is busy, for other crawls; hosts no longer wanted
local known_paces, known_wants -- announcements and wishes of other crawls that were read ahead
local number_texts -- number → text
-- Pending changes of the schedule: scores and members, or members only
local ready_added, ready_removed, wait_added, wait_removed, pending_added, pending_removed

local function format_number(number)
  return string.format('%.17g', number)
end

-- Format a time that many hosts have in common only once.
local function format_cached(number)
  local text = number_texts[number]
  if not text then
    text = format_number(number)
    number_texts[number] = text
  end
  return text
end

-- Return the facts by name. The constructor lists all fields, because a growing table would be slower.
local function parse_facts(f)
  return {
    life = f[2], outer = tonumber(f[3]), offset = tonumber(f[4]), inner = tonumber(f[5]), crashed = tonumber(f[6]),
    next = tonumber(f[7]), token = tonumber(f[8]), buckets = tonumber(f[9]), closed = tonumber(f[10]),
    waiting = tonumber(f[11]), leased = tonumber(f[12]), done = tonumber(f[13]), dropped = tonumber(f[14]),
    hosts = tonumber(f[15]), kept = tonumber(f[16]), refused = tonumber(f[17]), away = tonumber(f[18]), pace = f[19],
    delay = tonumber(f[20]), parallel = tonumber(f[21]), host_pages = tonumber(f[22]), lease = tonumber(f[23]),
    attempts = tonumber(f[24]), capacity = tonumber(f[25]), pages = tonumber(f[26]), paused = tonumber(f[27]) }
end

-- Largest power of two that does not exceed the number of buckets (linear hashing).
local function bucket_level()
  local size = 1
  while size * 2 <= crawl.buckets do size = size * 2 end
  return size
end

-- Initialise the state of a call. Return false if the crawl does not exist.
local function begin_call(keys, argv)
  if not call then load_builtins() end
  ARGV, prefix = argv, keys[1]
  FACTS, LINKS, HOSTS = prefix .. ':c', prefix .. ':links', prefix .. ':hosts'
  READY, WAIT = prefix .. ':ready', prefix .. ':wait'
  PENDING, FLIGHT = prefix .. ':pending', prefix .. ':flight'
  LEASES, ENDS, REASONS = prefix .. ':leases', prefix .. ':ends', prefix .. ':reasons'
  OVERFLOW, PACKS = prefix .. ':attic', prefix .. ':packs'
  local facts = call('HMGET', FACTS, unpack(FACT_NAMES))
  if facts[1] ~= ARGV[1] then return false end
  crawl, stored_facts = parse_facts(facts), facts
  PARALLEL = crawl.parallel > 0 and crawl.parallel or INF
  HOST_PAGES = crawl.host_pages > 0 and crawl.host_pages or INF
  WANTED = crawl.pace .. ':wanted' -- host → time of the last failed request, and the crawl that requested it
  worker, dirty = ARGV[4], ARGV[3] ~= ''
  loaded_hosts, links, changed_links, reason_codes = {}, {}, {}, {}
  encoded_hosts, previous_hosts = {}, {}
  written_links, written_count = {}, 0
  announcements, cleared_wants, known_paces, known_wants, number_texts = {}, {}, {}, {}, {}
  ready_added, ready_removed, wait_added, wait_removed = {}, {}, {}, {}
  pending_added, pending_removed = {}, {}
  last_number, level = crawl.next, bucket_level()
  return true
end

-- Set `now`, which never decreases, even if the clock is set back.
local function update_clock()
  time = tonumber(ARGV[3])
  if not time then
    local now = call('TIME')
    time = now[1] + now[2] / 1e6
  end
  if time < crawl.outer then
    crawl.offset = crawl.offset + crawl.outer - time
    dirty = true
  end
  crawl.outer = time
  now = max(crawl.inner, time + crawl.offset)
  crawl.inner = now
  if crawl.life ~= ARGV[2] then
    -- The server was restarted: the end of its log may be lost, with leases whose requests have not started yet.
    if crawl.life ~= '' then crawl.crashed = now + min(CONFIRMATION_SECONDS, (1 - LATE_SHARE) * crawl.lease) end
    crawl.life, dirty = ARGV[2], true
  end
  is_recovering = crawl.crashed + crawl.delay > now
end
