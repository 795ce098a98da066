-- Hosts

-- Decode a stored host, or one that this call has changed in its stored form. Create a host without stored data.
local function decode_host(name, stored)
  local h
  if stored and stored ~= '' then
    local flags, pages, leased, closed_bits, score, top = byte(stored), 0, 0, 0, -INF, 0
    local head = HEADER_SIZES[flags % 8]
    local best_links = sub(stored, head + 1)
    if head > 1 then pages, leased, closed_bits = unpack_(COUNTS, stored, 2) end
    if best_links ~= '' then score, top = unpack_('>dI6', best_links) end
    local ready_rank = flags % 2 == IS_READY and sub(best_links, 1, 14) or ''
    h = {
      name, pages, leased, closed_bits, flags % 16 >= HAS_QUEUE, ready_rank, best_links, score, top, 0,
      flags % 8 >= HAS_TIMES and stored, false, false, false, false, false, false }
    local old = previous_hosts[name]
    if old then
      -- This call has added links to the stored form.
      h[CHANGE], previous_hosts[name] = SAVE, nil
      if old ~= true then
        h[CHANGE], h[READY_RANK] = NEW_BEST, sub(old, head + 1, head + 14)
      end
    end
  else
    h = { name, 0, 0, 0, false, '', '', -INF, 0, RESCHEDULE, false, false, false, false, false, false, false }
    crawl.hosts = crawl.hosts + 1
  end
  loaded_hosts[name], encoded_hosts[name] = h, false
  return h
end

-- Decode the times of a host on demand. They are not needed to add a link to the waiting links, which is the most
-- frequent case, and most hosts have no times because no link of them was leased yet.
local function load_times(h)
  if h[OWN_DELAY] then return h end
  if h[STORED] then
    local last
    h[OWN_DELAY], last, h[HOLD_UNTIL], h[BLOCKED_UNTIL], h[WAIT_UNTIL] = unpack_(TIMES, h[STORED], TIMES_AT)
    h[LAST_LEASE] = max(last, crawl.crashed)
  else
    h[OWN_DELAY], h[LAST_LEASE], h[HOLD_UNTIL], h[BLOCKED_UNTIL], h[WAIT_UNTIL] = 0, crawl.crashed, -INF, -INF, -INF
  end
  return h
end

-- Encode a host.
local function encode_host(h)
  local pages, leased, closed_bits, best_links = h[PAGES], h[LEASED], h[CLOSED_BITS], h[BEST_LINKS]
  local flags = (h[READY_RANK] ~= '' and IS_READY or 0) + (h[HAS_MORE] and HAS_QUEUE or 0)
    + (leased > 0 and IS_LEASED or 0)
  if not h[OWN_DELAY] then
    if h[STORED] then
      flags, best_links = flags + HAS_TIMES, sub(h[STORED], TIMES_AT, HEADER_SIZES[HAS_TIMES]) .. best_links
    end
  elseif h[OWN_DELAY] ~= 0 or h[LAST_LEASE] > crawl.crashed
    or max(h[HOLD_UNTIL], h[BLOCKED_UNTIL], h[WAIT_UNTIL]) > -INF then
    flags = flags + HAS_TIMES + HAS_COUNTS
    return pack('<BI4I4I4ddddd', flags, pages, leased, closed_bits,
      h[OWN_DELAY], h[LAST_LEASE], h[HOLD_UNTIL], h[BLOCKED_UNTIL], h[WAIT_UNTIL]) .. best_links
  end
  if flags % 8 < HAS_TIMES and pages == 0 and leased == 0 and closed_bits == 0 then return char(flags) .. best_links end
  return pack('<BI4I4I4', flags + HAS_COUNTS, pages, leased, closed_bits) .. best_links
end

local function get_host(name)
  return load_times(loaded_hosts[name] or decode_host(name, encoded_hosts[name] or call('HGET', HOSTS, name)))
end

local function crawl_delay(h)
  return max(crawl.delay, h[OWN_DELAY])
end

-- Read the given hosts with one command. Most of them only get another link and are never decoded.
local function load_hosts(names)
  local missing, count = {}, 0
  for i = 1, #names do
    local name = names[i]
    if encoded_hosts[name] == nil then
      count = count + 1
      missing[count], encoded_hosts[name] = name, ''
    end
  end
  for i = 1, count, 1000 do
    local last = min(i + 999, count)
    local found = call('HMGET', HOSTS, unpack(missing, i, last))
    for n = 1, #found do
      local stored = found[n]
      if stored then
        local name = missing[i + n - 1]
        if byte(stored) < HAS_QUEUE then encoded_hosts[name] = stored else decode_host(name, stored) end
      end
    end
  end
end

local function queue_key(h)
  return prefix .. ':queue:' .. h[NAME]
end

local function mark_for_reschedule(h)
  if h[CHANGE] < RESCHEDULE then h[CHANGE] = RESCHEDULE end
  return h
end

local function mark_for_save(h)
  if h[CHANGE] < SAVE then h[CHANGE] = SAVE end
end

local function ready_at(h)
  return max(h[LAST_LEASE] + crawl_delay(h), h[HOLD_UNTIL], h[BLOCKED_UNTIL])
end

-- Announce to other crawls on this server until when a host is busy.
local function announce_busy(h, at)
  if crawl.pace ~= '' then announcements[h[NAME]] = at - crawl.offset end
end

-- Announce the end of a lease. If the worker dies, others wait from the last moment at which it may start a request.
local function announce_leased(h)
  announce_busy(h, now + max(crawl.lease, (1 - LATE_SHARE) * crawl.lease + crawl_delay(h)))
end

-- Announce that a host is free after its delay. A crawl that has requested it meanwhile goes first.
local function announce_free(h)
  if crawl.pace == '' then return end
  announce_busy(h, max(h[LAST_LEASE] + crawl_delay(h), h[HOLD_UNTIL]))
  local want = known_wants[h[NAME]]
  if want == nil then want = call('HGET', WANTED, h[NAME]) end
  local at, who = string.match(want or '', '^(%S+) (.*)$')
  -- A waiting crawl repeats its request once per delay. An older request is obsolete.
  if at and who ~= prefix and time - at < 2 * crawl_delay(h) + 2 then
    h[HOLD_UNTIL] = max(h[HOLD_UNTIL], h[LAST_LEASE] + 2 * crawl_delay(h), now + crawl_delay(h)) + HANDOVER_SECONDS
  end
end

-- Return whether another crawl uses the host now. If so, hold the host for a short time.
local function is_busy_elsewhere(h)
  if crawl.pace == '' then return false end
  local until_ = announcements[h[NAME]]
  if not until_ then
    local busy_until = known_paces[h[NAME]]
    if busy_until == nil then busy_until = call('ZSCORE', crawl.pace, h[NAME]) end
    until_ = tonumber(busy_until or '-inf')
  end
  -- A time further ahead was written before the clock was set back.
  if until_ <= time or until_ > time + max(MAX_HOLD_SECONDS, 2 * crawl.lease) then return false end
  call('HSET', WANTED, h[NAME], format_number(time) .. ' ' .. prefix)
  h[HOLD_UNTIL] = max(h[HOLD_UNTIL], now + min(until_ - time, max(crawl_delay(h), 0.05)))
  return true
end

local function is_budget_spent(h, credit)
  return h[PAGES] - (credit or 0) >= HOST_PAGES
end

local function postpone(h, wait)
  if wait > 0 and now + wait > h[HOLD_UNTIL] then
    h[HOLD_UNTIL] = now + wait
  end
end

-- Call a command with many values, 1000 at a time.
local function call_in_batches(command, key, values)
  for i = 1, #values, 1000 do
    call(command, key, unpack(values, i, min(i + 999, #values)))
  end
end

-- Order of links: by score, and among equal scores by discovery.
local function ranks_before(score, rank, other_score, other_rank)
  if score ~= other_score then return score > other_score end
  return rank > other_rank
end

-- Add a link to the queue of its host. The queue is written at the end of the call, or before it is read.
local function append_to_queue(h, score, member)
  local added = h[QUEUE_ADDED]
  if not added then
    added = {}
    h[QUEUE_ADDED] = added
  end
  local count = #added
  added[count + 1], added[count + 2] = score, member
  if not h[HAS_MORE] then
    h[HAS_MORE] = true
    mark_for_save(h)
  end
end

local function flush_queue(h)
  if h[QUEUE_ADDED] then
    call_in_batches('ZADD', queue_key(h), h[QUEUE_ADDED])
    h[QUEUE_ADDED] = false
  end
end

-- Return whether the best links of a host must be read from its queue.
local function needs_refill(h)
  return h[HAS_MORE] and h[BEST_LINKS] == ''
end

local function set_best_links(h, best_links)
  h[BEST_LINKS], h[CHANGE] = best_links, NEW_BEST
  if best_links ~= '' then
    h[SCORE], h[TOP] = unpack_('>dI6', best_links)
  else
    h[SCORE], h[TOP] = -INF, 0
  end
end

-- Move the best link to the front. The others keep their order.
local function move_best_to_front(best_links)
  local found, score, rank = 1, unpack_('>dI6', best_links)
  for at = 1 + RANKED_SIZE, #best_links, RANKED_SIZE do
    local other, other_rank = unpack_('>dI6', best_links, at)
    if other > score or other == score and other_rank > rank then found, score, rank = at, other, other_rank end
  end
  if found == 1 then return best_links end
  local best = sub(best_links, found, found + RANKED_SIZE - 1)
  return best .. sub(best_links, 1, found - 1) .. sub(best_links, found + RANKED_SIZE)
end

-- Remove the best link of a host. The next one becomes the best, or is read from the queue when it is needed.
local function remove_best_link(h)
  local best_links = sub(h[BEST_LINKS], RANKED_SIZE + 1)
  if not h[HAS_MORE] and #best_links > RANKED_SIZE then best_links = move_best_to_front(best_links) end
  set_best_links(h, best_links)
end

-- Sort the best links when they are full: from now on the last ones may move to the queue.
local function sort_best_links(h)
  local best_links, ranked = h[BEST_LINKS], {}
  for at = 1, #best_links, RANKED_SIZE do
    local score, rank = unpack_('>dI6', best_links, at)
    ranked[#ranked + 1] = { score, rank, sub(best_links, at, at + RANKED_SIZE - 1) }
  end
  table.sort(ranked, function(a, b) return ranks_before(a[1], a[2], b[1], b[2]) end)
  for i = 1, #ranked do ranked[i] = ranked[i][3] end
  h[BEST_LINKS] = concat(ranked)
end

-- Move the best links from the queue to the host. They are removed by name, so that a replay of the log is exact.
local function refill_best_links(h)
  flush_queue(h)
  local most = MAX_BEST_SIZE / RANKED_SIZE
  local tops = call('ZRANGE', queue_key(h), -most, -1, 'WITHSCORES')
  local count, members, ranked = #tops / 2, {}, {}
  for i = 1, count do
    local member = tops[2 * (count - i) + 1]
    members[i], ranked[i] = member, pack('>d', tonumber(tops[2 * (count - i) + 2])) .. member
  end
  call_in_batches('ZREM', queue_key(h), members)
  h[HAS_MORE] = count == most
  set_best_links(h, concat(ranked))
end

-- Move all links of a host to its queue.
local function move_all_to_queue(h)
  local best_links = h[BEST_LINKS]
  for at = 1, #best_links, RANKED_SIZE do
    append_to_queue(h, unpack_('>d', best_links, at), sub(best_links, at + 8, at + RANKED_SIZE - 1))
  end
  set_best_links(h, '')
  flush_queue(h)
end

-- Return the position of a link in the best links of its host, or nil.
local function find_best_link(h, rank, fingerprint)
  local best_links, member, at = h[BEST_LINKS], pack(MEMBER, rank, fingerprint), 1
  while true do
    at = find(best_links, member, at, true)
    if not at or at % RANKED_SIZE == 9 then return at and at - 8 end
    at = at + 1
  end
end

-- Return whether a link belongs in the queue: all links stored with the host precede all links in the queue.
local function belongs_in_queue(h, score, rank)
  local size = #h[BEST_LINKS]
  if size == 0 or not h[HAS_MORE] and size < MAX_BEST_SIZE then return h[HAS_MORE] end
  if not h[HAS_MORE] then sort_best_links(h) end
  local other, other_rank = unpack_('>dI6', h[BEST_LINKS], size - RANKED_SIZE + 1)
  return not ranks_before(score, rank, other, other_rank)
end

-- Insert a link into the waiting links of its host. The last of the best links may move to the queue.
local function insert_link(fingerprint, score, rank, h)
  local best_links = h[BEST_LINKS]
  if best_links == '' and not h[HAS_MORE] then
    h[BEST_LINKS], h[SCORE], h[TOP], h[CHANGE] = pack(RANKED_LINK, score, rank, fingerprint), score, rank, NEW_BEST
    return
  elseif belongs_in_queue(h, score, rank) then
    append_to_queue(h, score, pack(MEMBER, rank, fingerprint))
    return
  end
  local at = ranks_before(score, rank, h[SCORE], h[TOP]) and 0 or #h[BEST_LINKS]
  best_links = h[BEST_LINKS]
  if h[HAS_MORE] or at == MAX_BEST_SIZE then
    while at > 0 do
      local other, other_rank = unpack_('>dI6', best_links, at - RANKED_SIZE + 1)
      if ranks_before(other, other_rank, score, rank) then break end
      at = at - RANKED_SIZE
    end
  end
  best_links = sub(best_links, 1, at) .. pack(RANKED_LINK, score, rank, fingerprint) .. sub(best_links, at + 1)
  if #best_links > MAX_BEST_SIZE then
    append_to_queue(h, unpack_('>d', best_links, MAX_BEST_SIZE + 1), sub(best_links, MAX_BEST_SIZE + 9))
    best_links = sub(best_links, 1, MAX_BEST_SIZE)
  end
  h[BEST_LINKS] = best_links
  if at == 0 then
    h[SCORE], h[TOP], h[CHANGE] = score, rank, NEW_BEST
  else
    mark_for_save(h)
  end
end

-- Return the zset score of a ready host, a monotonic function of the link score. Negative scores are used directly,
-- because the order of their bytes differs from the order of their values.
local function ready_score(score)
  return score < 0 and score or floor(score * 1048576)
end

-- Return whether a host that is ready at a time is not ready now, but will be, and its best link has a positive score.
local function is_pending(h, at)
  return h[TOP] > 0 and h[SCORE] > 0 and h[PAGES] + h[LEASED] < HOST_PAGES and at < INF
    and (at > now or h[LEASED] >= PARALLEL)
end

-- Update the schedule of a host after a change. `flush_schedule` writes the changes of many hosts together.
local function reschedule_host(h)
  if needs_refill(h) then refill_best_links(h) end
  local ready_rank, due, previous_due, name = '', -INF, -INF, h[NAME]
  -- Most of these hosts are new.
  local at = crawl.crashed + crawl.delay
  if h[OWN_DELAY] or h[STORED] then
    load_times(h)
    at, previous_due = ready_at(h), h[WAIT_UNTIL]
  end
  if h[TOP] > 0 and h[LEASED] < PARALLEL and h[PAGES] + h[LEASED] < HOST_PAGES then
    if at <= now then
      ready_rank = sub(h[BEST_LINKS], 1, 14)
    elseif at < INF then
      due = at
    end
  end
  if is_pending(h, at) then
    local count = #pending_added
    pending_added[count + 1], pending_added[count + 2] = ready_score(h[SCORE]), name
  elseif h[READY_RANK] == '' and (h[OWN_DELAY] or h[STORED]) then
    pending_removed[#pending_removed + 1] = name
  end
  if h[READY_RANK] ~= ready_rank then
    if h[READY_RANK] ~= '' then ready_removed[#ready_removed + 1] = h[READY_RANK] .. name end
    if ready_rank ~= '' then
      local count = #ready_added
      ready_added[count + 1], ready_added[count + 2] = ready_score(h[SCORE]), ready_rank .. name
    end
  end
  if due ~= previous_due then
    load_times(h)[WAIT_UNTIL] = due
    if due == -INF then
      wait_removed[#wait_removed + 1] = name
    else
      local count = #wait_added
      wait_added[count + 1], wait_added[count + 2] = format_cached(due), name
    end
  end
  h[READY_RANK], h[CHANGE] = ready_rank, SAVE
end

-- Write the schedule. Must be called before it is read, and before a host is rescheduled twice.
local function flush_schedule()
  call_in_batches('ZREM', READY, ready_removed)
  call_in_batches('ZADD', READY, ready_added)
  call_in_batches('ZREM', WAIT, wait_removed)
  call_in_batches('ZADD', WAIT, wait_added)
  call_in_batches('ZREM', PENDING, pending_removed)
  call_in_batches('ZADD', PENDING, pending_added)
  ready_added, ready_removed, wait_added, wait_removed = {}, {}, {}, {}
  pending_added, pending_removed = {}, {}
end
