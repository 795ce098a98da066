-- Leases

-- Return the end of a new lease as text, once for many leases.
local function lease_expiry()
  return format_number(floor((now + crawl.lease) * 1e6))
end

-- Return the token, the host and the worker of a stored lease.
local function decode_lease(stored)
  local token, length = unpack_(LEASE, stored)
  return token, sub(stored, LEASE_SIZE + 1, LEASE_SIZE + length), sub(stored, LEASE_SIZE + length + 1)
end

local function requeue_link(fingerprint, count)
  local _, name = decode_lease(call('HGET', LEASES, fingerprint))
  local h = get_host(name)
  call('HDEL', LEASES, fingerprint)
  call('ZREM', ENDS, fingerprint)
  call('ZREM', FLIGHT, fingerprint)
  h[LEASED] = h[LEASED] - 1
  mark_for_reschedule(h)
  crawl.leased = crawl.leased - 1
  local link = get_link(fingerprint)
  crawl.waiting = crawl.waiting + 1
  if count then
    link.attempts = link.attempts + 1
    if link.attempts >= crawl.attempts then
      drop_link(fingerprint, encode_reason('set_aside', DROPPED), h)
      return h
    end
    store_link(link)
  end
  insert_link(fingerprint, link.score, link_rank(link), h)
  return h
end

local function get_leased_host(token, fingerprint)
  local stored = call('HGET', LEASES, fingerprint)
  if not stored then return nil end
  local current, name = decode_lease(stored)
  return current == tonumber(token) and get_host(name) or nil
end

-- Update the schedule of a ready host that has another best link.
local function update_ready_rank(name, old, text)
  local at = HEADER_SIZES[byte(text)] + 1
  local score, rank = unpack_('>dI6', text, at)
  local count = #ready_added
  ready_added[count + 1], ready_added[count + 2] = ready_score(score), pack('>dI6c0', score, rank, name)
  if old ~= '' then
    score, rank = unpack_('>dI6', old, at)
    ready_removed[#ready_removed + 1] = pack('>dI6c0', score, rank, name)
  end
end

local function flush_changes()
  local hosts, removed, count = {}, {}, 0
  for name, h in pairs(loaded_hosts) do
    if h[CHANGE] >= RESCHEDULE then reschedule_host(h) end
    if h[QUEUE_ADDED] then flush_queue(h) end
    if h[CHANGE] > 0 then
      hosts[count + 1], hosts[count + 2] = name, encode_host(h)
      count = count + 2
    end
  end
  for name, old in pairs(previous_hosts) do
    local text = encoded_hosts[name]
    hosts[count + 1], hosts[count + 2] = name, text
    count = count + 2
    if old ~= true then update_ready_rank(name, old, text) end
  end
  for fingerprint in pairs(changed_links) do
    local link = links[fingerprint]
    if link then
      store_encoded(fingerprint, type(link) == 'string' and link or encode_link(link))
    else
      removed[#removed + 1] = fingerprint
    end
  end
  local pace = {}
  for name, at in pairs(announcements) do pace[#pace + 1], pace[#pace + 2] = format_cached(at), name end
  call_in_batches('ZADD', crawl.pace, pace)
  call_in_batches('HDEL', WANTED, cleared_wants)
  flush_schedule()
  call_in_batches('HSET', HOSTS, hosts)
  call_in_batches('HSET', LINKS, written_links)
  call_in_batches('HDEL', LINKS, removed)
  dirty = dirty or hosts[1] or written_links[1] or removed[1]
  local changed = {}
  crawl.next = last_number
  for i = 2, CHANGEABLE do
    local name, value = FACT_NAMES[i], stored_facts[i]
    -- The first facts are texts.
    if i > 2 then value = tonumber(value) end
    if crawl[name] ~= value then
      changed[#changed + 1], changed[#changed + 2] = name, crawl[name]
      -- Do not write to the log of the server only because time has passed.
      dirty = dirty or (name ~= 'outer' and name ~= 'inner')
    end
  end
  if dirty and changed[1] then call('HSET', FACTS, unpack(changed)) end
end

-- Offers

local function add_link(fingerprint, h, score, rest)
  last_number = last_number + 1
  crawl.waiting = crawl.waiting + 1
  store_encoded(fingerprint, pack('<ddI6I2', score, score, last_number, 0) .. rest)
  insert_link(fingerprint, score, LAST_RANK - last_number, h)
end

local function apply_offer(link, h, score, replace, rest)
  local better = score > link.score
  if not (better or replace == 1) or is_leased(link.fingerprint, h) then return end
  local depth, length = unpack_('<I2I2', rest)
  link.score, link.priority = score, sub(rest, 5 + length)
  if better then
    link.text, link.depth = sub(rest, 5, 4 + length), min(link.depth, depth)
  end
  store_link(link)
  reposition_link(link, h)
end

local function may_reopen(fingerprint, h, old, score, reopen)
  local kind = decode_kind(old)
  if reopen and (kind == MARKED_DONE or kind == COMPLETED) then
    if is_budget_spent(h, kind) then return false end
    if tonumber(old) == encode_reason('fetched', COMPLETED) then crawl.kept = crawl.kept - 1 end
    mark_for_reschedule(h)[PAGES] = h[PAGES] - kind
    crawl.done = crawl.done - 1
    return true
  end
  if is_budget_spent(h) then return false end
  local is_away = kind == IN_OVERFLOW
  if not is_away and sub(old, 1, 1) ~= 'D' or score <= unpack_('<d', sub(old, 2)) then return false end
  if is_away then crawl.away = crawl.away - 1 else crawl.dropped = crawl.dropped - 1 end
  return true
end

-- Read many links with one command, unless they are already loaded.
local function load_links(fingerprints)
  for i = 1, #fingerprints, 1000 do
    local last = min(i + 999, #fingerprints)
    for n, stored in ipairs(call('HMGET', LINKS, unpack(fingerprints, i, last))) do
      local fingerprint = fingerprints[i + n - 1]
      if links[fingerprint] == nil then decode_link(fingerprint, stored) end
    end
  end
end

-- Decode up to `most` offers (nil: all) from a position. Return the offers and the position after them.
local function decode_offers(blob, at, most)
  local offers, count, size = {}, 0, #blob
  local last = most and 5 * most or INF
  while count < last and at <= size do
    offers[count + 1], offers[count + 2], offers[count + 3], offers[count + 4], offers[count + 5], at =
      unpack_(OFFER, blob, at)
    count = count + 5
  end
  return offers, at
end

-- Append the hosts of offers to a list of names.
local function append_hosts(offers, names)
  local count = #names
  for i = 4, #offers, 5 do
    count = count + 1
    names[count] = offers[i]
  end
  return names
end

-- Append the fingerprints that must be looked up. The stored form of most hosts contains all their waiting links.
local function collect_possible_links(offers, fingerprints)
  local count = #fingerprints
  for i = 1, #offers, 5 do
    if not encoded_hosts[offers[i + 3]] then
      count = count + 1
      fingerprints[count] = offers[i]
    end
  end
end

-- Fast path for most links: a new link of a host whose stored form contains all its waiting links. The link is inserted
-- into the stored form without decoding it. Return false if the fast path does not apply.
local function try_fast_insert(fingerprint, score, name, rest)
  local text, number = encoded_hosts[name], last_number + 1
  if not text then return false end
  if text == '' then
    if is_recovering then return false end
    crawl.hosts, previous_hosts[name] = crawl.hosts + 1, ''
    encoded_hosts[name] = pack('>BdI6c9', IS_READY, score, LAST_RANK - number, fingerprint)
  else
    local flags, size = byte(text), #text
    local head, pages, closed_bits, _ = HEADER_SIZES[flags], 0, 0
    if find(text, fingerprint, head + 1, true) then return false end
    if head > 1 then pages, _, closed_bits = unpack_(COUNTS, text, 2) end
    local is_best = size > head and unpack_('>d', text, head + 1) < score
    if size == head or size - head >= MAX_BEST_SIZE or is_best and flags % 2 ~= IS_READY
      or pages >= HOST_PAGES or closed_bits ~= 0 and band(closed_bits, lshift(1, byte(fingerprint, 9))) ~= 0 then
      links[fingerprint] = false -- because the stored form contains all waiting links
      return false
    end
    local old = previous_hosts[name]
    if is_best then
      local link = pack(RANKED_LINK, score, LAST_RANK - number, fingerprint)
      encoded_hosts[name] = sub(text, 1, head) .. link .. sub(text, head + 1)
      if not old or old == true then previous_hosts[name] = text end
    else
      -- It was found last, so it comes after links with the same score.
      encoded_hosts[name] = text .. pack(RANKED_LINK, score, LAST_RANK - number, fingerprint)
      if not old then previous_hosts[name] = true end
    end
  end
  last_number = number
  -- Concatenation, because `pack` copies long texts byte by byte.
  store_encoded(fingerprint, pack('<ddI6I2', score, score, number, 0) .. rest)
  return true
end

-- Apply offers and return how many links are new. The hosts and links must be loaded.
local function apply_offers(offers, reopen)
  local new, joined = 0, 0
  for i = 1, #offers, 5 do
    local fingerprint, score, name = offers[i], offers[i + 1], offers[i + 3]
    if try_fast_insert(fingerprint, score, name, offers[i + 4]) then
      joined = joined + 1
    else
      local h = loaded_hosts[name] or decode_host(name, encoded_hosts[name])
      local link = get_link(fingerprint)
      if link then
        if not is_budget_spent(h) then apply_offer(link, h, score, offers[i + 2], offers[i + 4]) end
      else
        local old = h[CLOSED_BITS] ~= 0 and get_closed(fingerprint, h)
        local welcome = h[PAGES] < HOST_PAGES
        if old then
          welcome = may_reopen(fingerprint, h, old, score, reopen)
          if welcome then remove_closed(fingerprint) end
        elseif welcome then
          new = new + 1
        end
        if welcome then add_link(fingerprint, h, score, offers[i + 4]) end
      end
    end
  end
  crawl.waiting = crawl.waiting + joined
  if crawl.capacity > 0 and crawl.waiting > crawl.capacity then drop_worst_links() end
  return new + joined
end

local function load_and_apply_offers(blob, reopen)
  local fingerprints, offers = {}, decode_offers(blob, 1)
  load_hosts(append_hosts(offers, {}))
  collect_possible_links(offers, fingerprints)
  load_links(fingerprints)
  return apply_offers(offers, reopen)
end

-- Lease the best link of a host.
local function lease_best_link(h)
  local fingerprint, score = sub(h[BEST_LINKS], 15, RANKED_SIZE), h[SCORE]
  remove_best_link(h)
  if needs_refill(h) then refill_best_links(h) end
  -- Tokens follow the clock, so that none is reused after the server has lost the end of its log.
  crawl.token = max(crawl.token + 1, floor(now * 1e6))
  h[LAST_LEASE], h[LEASED] = now, h[LEASED] + 1
  crawl.waiting, crawl.leased = crawl.waiting - 1, crawl.leased + 1
  if crawl.pace ~= '' then
    announce_leased(h)
    cleared_wants[#cleared_wants + 1] = h[NAME]
  end
  return { fingerprint = fingerprint, host = h[NAME], token = crawl.token, score = score }
end

-- Write leases → for each lease the token, the lengths of host and link, whether it is poor, then host and link
local function write_leases(out)
  local fingerprints, leases, ends, flight, answer = {}, {}, {}, {}, {}
  local at = lease_expiry()
  for i, lease in ipairs(out) do fingerprints[i] = lease.fingerprint end
  local stored = out[1] and call('HMGET', LINKS, unpack(fingerprints))
  for i, lease in ipairs(out) do
    local fingerprint, name, link = lease.fingerprint, lease.host, stored[i]
    -- A link that was requeued by this call is not written yet.
    if changed_links[fingerprint] then link = encode_link(get_link(fingerprint)) end
    local head = pack(LEASE, lease.token, #name)
    leases[2 * i - 1], leases[2 * i] = fingerprint, head .. name .. worker
    ends[2 * i - 1], ends[2 * i] = at, fingerprint
    if lease.score > 0 then flight[#flight + 1], flight[#flight + 2] = ready_score(lease.score), fingerprint end
    answer[i] = head .. pack('<I4B', #link, lease.is_poor and 1 or 0) .. name .. link
  end
  call_in_batches('HSET', LEASES, leases)
  call_in_batches('ZADD', ENDS, ends)
  call_in_batches('ZADD', FLIGHT, flight)
  return concat(answer)
end

local function promote_due_hosts()
  local due = call('ZRANGE', WAIT, '-inf', now, 'BYSCORE')
  if not due[1] then return end
  load_hosts(due)
  for _, name in ipairs(due) do reschedule_host(loaded_hosts[name] or decode_host(name, encoded_hosts[name])) end
  flush_schedule()
  dirty = true
end
