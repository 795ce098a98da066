-- Operations: the comment lists the arguments → the reply

local run = {}

function run.add()
  return load_and_apply_offers(ARGV[6], false)
end

function run.reopen()
  return load_and_apply_offers(ARGV[6], true)
end

local find_poor_score
do -- in a block, because Lua allows 200 local variables at a time
  local EXPECTED_SECONDS, SLOW_LEASE_SECONDS = 60, 10 -- as in frontier/base.py
  local MAX_CANDIDATES = 64 -- pending hosts, and leased links, among which the best one that counts is searched

  -- Return whether a pending host is expected soon: it waits only for its crawl delay, and no lease takes long.
  local function is_expected(h)
    return ready_at(h) - min(crawl_delay(h), EXPECTED_SECONDS) <= now
      and (h[LEASED] < PARALLEL or h[LAST_LEASE] + SLOW_LEASE_SECONDS >= now)
  end

  -- Return the best score of a pending host that is expected if it exceeds a score, otherwise that score.
  local function find_best_pending(best)
    local names = call('ZRANGE', PENDING, -MAX_CANDIDATES, -1)
    load_hosts(names)
    for i = #names, 1, -1 do
      local h = get_host(names[i])
      if h[SCORE] <= best then return best end
      if not is_pending(h, ready_at(h)) then
        call('ZREM', PENDING, names[i])
        dirty = true
      elseif is_expected(h) then
        return h[SCORE]
      end
    end
    return best
  end

  -- Return the best score of a leased link whose lease is not slow if it exceeds a score, otherwise that score. The
  -- token of a lease is its start time.
  local function find_best_in_flight(best)
    local fingerprints = call('ZRANGE', FLIGHT, -MAX_CANDIDATES, -1)
    if not fingerprints[1] then return best end
    local stored = call('HMGET', LEASES, unpack(fingerprints))
    for i = #fingerprints, 1, -1 do
      if not stored[i] then
        call('ZREM', FLIGHT, fingerprints[i])
        dirty = true
      else
        local score = get_link(fingerprints[i]).score
        if score <= best then return best end
        if (decode_lease(stored[i])) / 1e6 + SLOW_LEASE_SECONDS >= now then return score end
      end
    end
    return best
  end

  -- Return the score below which links are poor. The schedule must be written.
  function find_poor_score(focus)
    if focus <= 0 then return -INF end
    local first, best = call('ZRANGE', READY, -1, -1)[1], 0
    if first then best = max(best, (unpack_('>d', first))) end
    best = find_best_in_flight(find_best_pending(best))
    return best > 0 and focus * best or -INF
  end
end

local function reschedule_changed_hosts()
  for _, h in pairs(loaded_hosts) do
    if h[CHANGE] >= RESCHEDULE then reschedule_host(h) end
  end
  flush_schedule()
end

-- Limits of leases: minimum score, focus, maximum number of poor links, leased links up to which poor ones are added →
-- minimum score, focus, number of poor links that may be leased now
local function parse_limits(at)
  local max_poor = max(tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]) - crawl.leased)
  return unpack_('<d', ARGV[at]), tonumber(ARGV[at + 1]), max_poor
end

do
  local function is_host_ready(h)
    return h[TOP] > 0 and h[LEASED] < PARALLEL and h[PAGES] + h[LEASED] < HOST_PAGES and ready_at(h) <= now
  end

  -- Return the index of the host with the best link.
  local function find_best_host(hosts)
    local found
    for i, h in ipairs(hosts) do
      local other = hosts[found]
      if not other or ranks_before(h[SCORE], h[TOP], other[SCORE], other[TOP]) then found = i end
    end
    return found
  end

  -- Lease up to `count` of the best links that score at least `least`, at most `max_poor` of them below `poor_score`.
  -- Return whether a repetition may lease more.
  local function lease_best_links(count, least, poor_score, max_poor, out)
    local names, again, skipped = {}, {}, false -- again: hosts that are still ready after a lease
    for i, top in ipairs(call('ZRANGE', READY, -count, -1)) do names[i] = sub(top, 15) end
    local at = #names
    load_hosts(names)
    if crawl.pace ~= '' and names[1] then
      for i, until_ in ipairs(call('ZMSCORE', crawl.pace, unpack(names))) do known_paces[names[i]] = until_ end
    end
    while count > 0 do
      local i, h = find_best_host(again), at > 0 and get_host(names[at])
      local other = again[i]
      if other and not (h and ranks_before(h[SCORE], h[TOP], other[SCORE], other[TOP])) then
        h = other
        table.remove(again, i)
      elseif not h then
        return skipped
      else
        at = at - 1
      end
      local is_poor = h[SCORE] < poor_score
      if h[SCORE] < least or is_poor and max_poor <= out.poor then return false end
      -- After a restart of the server, a host that was ready may have to wait.
      if ready_at(h) <= now and not is_busy_elsewhere(h) then
        out[#out + 1] = lease_best_link(h)
        out[#out].is_poor = is_poor
        if is_poor then out.poor = out.poor + 1 end
        if is_host_ready(h) then again[#again + 1] = h end
        count = count - 1
      else
        skipped = true
        mark_for_reschedule(h)
      end
    end
    return false
  end

  -- count, limits → see write_leases
  function run.lease()
    local count, out = tonumber(ARGV[6]), { poor = 0 }
    local least, focus, max_poor = parse_limits(7)
    if crawl.paused == 1 then return '' end
    if crawl.pages > 0 then count = min(count, crawl.pages - crawl.kept - crawl.leased) end
    promote_due_hosts()
    if crawl.pace ~= '' then call('ZREMRANGEBYSCORE', crawl.pace, '-inf', time) end
    -- Reschedule hosts of expired leases, and hosts that are not ready after all, before links are selected.
    reschedule_changed_hosts()
    local more, poor_score = count > 0, find_poor_score(focus)
    while more do
      more = lease_best_links(count - #out, least, poor_score, max_poor, out)
      if more then reschedule_changed_hosts() end
    end
    if out[1] then dirty = true end
    return write_leases(out)
  end
end

local function completed_key()
  return prefix .. ':completed:' .. worker
end

-- Keep the leased links that are now complete until the worker has synced their pages.
local function keep_completed(fingerprints)
  local values = {}
  if not fingerprints[1] then return end
  for i, stored in ipairs(call('HMGET', LINKS, unpack(fingerprints))) do
    if stored then values[#values + 1], values[#values + 2] = fingerprints[i], stored end
  end
  if values[1] then call('HSET', completed_key(), unpack(values)) end
end

-- confirmation → 0. The worker has synced its pages since its last confirmation, so that the links which it completed
-- before that one are safe. A confirmation that arrives twice has no effect.
function run.confirm_stored()
  local current = completed_key()
  local old = current .. ':old'
  if call('HGET', prefix .. ':confirmed', worker) == ARGV[6] then return 0 end
  call('HSET', prefix .. ':confirmed', worker, ARGV[6])
  call('DEL', old)
  if call('EXISTS', current) == 1 then call('RENAME', current, old) end
  return 0
end

-- token, fingerprint, wait, unused, reason and offers of each lease → 1 or 0 for each; total number of stored pages
function run.complete()
  local blob, at, count, offer_count = ARGV[6], 1, 0, 0
  local tokens, fingerprints, waits, unused, reasons, offers = {}, {}, {}, {}, {}, {}
  local valid_hosts, names, removed, possible, answers = {}, {}, {}, {}, {}
  while at <= #blob do
    count = count + 1
    tokens[count], fingerprints[count], waits[count], unused[count], reasons[count], offer_count, at =
      unpack_(COMPLETION, blob, at)
    offers[count], at = decode_offers(blob, at, offer_count)
  end
  for i, stored in ipairs(call('HMGET', LEASES, unpack(fingerprints))) do
    local token, name
    if stored then token, name = decode_lease(stored) end
    valid_hosts[i] = token == tokens[i] and name
    if valid_hosts[i] then removed[#removed + 1], names[#names + 1] = fingerprints[i], name end
  end
  keep_completed(removed)
  if crawl.pace ~= '' and names[1] then
    for i, want in ipairs(call('HMGET', WANTED, unpack(names))) do known_wants[names[i]] = want end
  end
  for i = 1, count do
    if valid_hosts[i] then append_hosts(offers[i], names) end
  end
  load_hosts(names)
  for i = 1, count do
    if valid_hosts[i] then collect_possible_links(offers[i], possible) end
  end
  load_links(possible)
  for i, name in ipairs(valid_hosts) do
    if name then
      local h, fingerprint, reason = mark_for_reschedule(get_host(name)), fingerprints[i], reasons[i]
      h[LEASED], h[PAGES] = h[LEASED] - 1, h[PAGES] + 1
      if unused[i] == 1 then h[LAST_LEASE] = h[LAST_LEASE] - crawl_delay(h) end
      postpone(h, waits[i])
      delete_link(fingerprint)
      close_link(fingerprint, encode_reason(reason, COMPLETED), h)
      crawl.leased, crawl.done = crawl.leased - 1, crawl.done + 1
      if reason == 'fetched' then crawl.kept = crawl.kept + 1 end
      announce_free(h)
      if is_budget_spent(h) then drop_host_links(h) end
      apply_offers(offers[i], false)
    else
      crawl.refused = (crawl.refused or 0) + 1
    end
    answers[i] = name and '1' or '0'
  end
  -- Only now, because all these links count as leased for the offers of the pages before them.
  call_in_batches('HDEL', LEASES, removed)
  call_in_batches('ZREM', ENDS, removed)
  call_in_batches('ZREM', FLIGHT, removed)
  return { concat(answers), crawl.kept }
end

-- token, fingerprint, wait, count, unused → 1 or 0
function run.release()
  local h = get_leased_host(ARGV[6], ARGV[7])
  if not h then
    crawl.refused = (crawl.refused or 0) + 1
    return 0
  end
  if ARGV[10] == '1' then h[LAST_LEASE] = h[LAST_LEASE] - crawl_delay(h) end
  postpone(h, tonumber(ARGV[8]))
  requeue_link(ARGV[7], ARGV[9] == '1')
  announce_free(h)
  return 1
end

-- whether the attempts count → 0; requeues all leased links of this worker
function run.release_all()
  local leases = call('HGETALL', LEASES)
  for i = 1, #leases, 2 do
    local _, _, holder = decode_lease(leases[i + 1])
    if holder == worker then
      local h = requeue_link(leases[i], ARGV[6] == '1')
      -- The worker was killed, perhaps right after a request.
      if ARGV[6] == '1' then h[HOLD_UNTIL] = max(h[HOLD_UNTIL], now + crawl_delay(h)) end
      announce_free(h)
    end
  end
  return 0
end

local function extend_leases(at, answers)
  for i = at, #ARGV, 2 do
    local h = get_leased_host(ARGV[i], ARGV[i + 1])
    if h then
      call('ZADD', ENDS, lease_expiry(), ARGV[i + 1])
      announce_leased(h)
    end
    answers[#answers + 1] = h and 1 or 0
  end
  return answers
end

-- token, fingerprint → 1 or 0
function run.extend()
  return extend_leases(6, {})
end

-- report, then token and fingerprint of each lease → state, stored pages, page limit, then 1 or 0 for each lease
function run.heartbeat()
  call('HSET', prefix .. ':workers', worker, format_number(now - crawl.offset) .. ' ' .. ARGV[6])
  return extend_leases(7, { crawl.paused, crawl.kept, crawl.pages })
end

-- Permission for one request to a host without a lease: host → seconds to wait, 0 if it is granted
function run.claim_host()
  local h = mark_for_reschedule(get_host(ARGV[6]))
  local at = ready_at(h)
  if h[LEASED] >= PARALLEL then at = max(at, now + max(crawl_delay(h), 0.05)) end
  if at <= now and is_busy_elsewhere(h) then at = h[HOLD_UNTIL] end
  if at > now then return format_number(at - now) end
  h[HOLD_UNTIL] = now + CONFIRMATION_SECONDS + crawl_delay(h)
  announce_busy(h, h[HOLD_UNTIL])
  return '0'
end

-- reason, then fingerprint and host of each link → 0
function run.mark_done()
  local reason = encode_reason(ARGV[6], MARKED_DONE)
  for i = 7, #ARGV, 2 do
    local fingerprint, h = ARGV[i], get_host(ARGV[i + 1])
    local link = get_link(fingerprint)
    if link then
      if not is_leased(fingerprint, h) then
        remove_waiting(link, h)
        delete_link(fingerprint)
        close_link(fingerprint, reason, h)
        crawl.waiting, crawl.done = crawl.waiting - 1, crawl.done + 1
      end
    else
      local old = get_closed(fingerprint, h)
      local kind = old and decode_kind(old)
      if not old or kind == DROPPED or kind == IN_OVERFLOW then
        if kind == DROPPED then crawl.dropped = crawl.dropped - 1 end
        if kind == IN_OVERFLOW then crawl.away = crawl.away - 1 end
        close_link(fingerprint, reason, h)
        crawl.done = crawl.done + 1
      end
    end
  end
  return 0
end

-- fingerprint, host, score, … → number of waiting links
function run.rescore()
  local count = 0
  for i = 6, #ARGV, 3 do
    local link = get_link(ARGV[i])
    local h = link and get_host(ARGV[i + 1])
    if h and not is_leased(ARGV[i], h) then
      link.score = unpack_('<d', ARGV[i + 2])
      store_link(link)
      reposition_link(link, h)
      count = count + 1
    end
  end
  return count
end

-- Overflow: the worst links of a queue that is too long, until there is room again

-- pack, its best score, then fingerprint and host of each link → number of moved links
function run.move_to_overflow()
  local count = 0
  for i = 8, #ARGV, 2 do
    local fingerprint = ARGV[i]
    local link = get_link(fingerprint)
    local h = link and get_host(ARGV[i + 1])
    -- The link may have been leased meanwhile: then its copy in the pack is ignored later.
    if h and not is_leased(fingerprint, h) then
      remove_waiting(link, h)
      delete_link(fingerprint)
      close_link(fingerprint, 'A' .. pack('<d', link.score), h)
      count = count + 1
    end
  end
  if count > 0 then
    last_number = last_number + 1
    call('HSET', OVERFLOW, last_number, ARGV[6])
    call('ZADD', PACKS, ARGV[7], last_number)
    crawl.waiting, crawl.away = crawl.waiting - count, (crawl.away or 0) + count
  end
  return count
end

-- number of a pack, then fingerprint, host and data of each link → number of restored links
function run.restore_overflow()
  local count = 0
  -- Another worker may have restored the pack already.
  if call('ZREM', PACKS, ARGV[6]) == 0 then return 0 end
  call('HDEL', OVERFLOW, ARGV[6])
  for i = 7, #ARGV, 3 do
    local fingerprint, h = ARGV[i], get_host(ARGV[i + 1])
    local old = get_closed(fingerprint, h)
    if old and decode_kind(old) == IN_OVERFLOW then
      crawl.away = crawl.away - 1
      if is_budget_spent(h) then
        close_link(fingerprint, encode_reason('host_budget', DROPPED), h)
        crawl.dropped = crawl.dropped + 1
      else
        remove_closed(fingerprint)
        local link = decode_link(fingerprint, ARGV[i + 2])
        link.score = unpack_('<d', sub(old, 2))
        store_link(link)
        insert_link(fingerprint, link.score, link_rank(link), h)
        crawl.waiting, count = crawl.waiting + 1, count + 1
      end
    end
  end
  return count
end

-- host, delay → 0
function run.set_host_delay()
  local h = mark_for_reschedule(get_host(ARGV[6]))
  h[OWN_DELAY] = tonumber(ARGV[7])
  return 0
end

-- host, seconds from now → 0
function run.block()
  mark_for_reschedule(get_host(ARGV[6]))[BLOCKED_UNTIL] = now + tonumber(ARGV[7])
  return 0
end

do
  -- Return the time when a delayed host with a link of at least a score is ready, or INF.
  local function find_next_ready_time(least)
    local at, most = 0, least > -INF and 100 or 1
    while true do
      local names, times = {}, {}
      for i, value in ipairs(call('ZRANGE', WAIT, at, at + most - 1, 'WITHSCORES')) do
        if i % 2 == 1 then names[#names + 1] = value else times[#times + 1] = tonumber(value) end
      end
      if not names[1] then return INF end
      if least == -INF then return times[1] end
      load_hosts(names)
      for i, name in ipairs(names) do
        if get_host(name)[SCORE] >= least then return times[i] end
      end
      at = at + most
    end
  end

  -- limits → seconds until a link can be leased, and seconds until a leased link could be leased again; inf: never
  function run.seconds_until_ready()
    local least, focus, max_poor = parse_limits(6)
    promote_due_hosts()
    reschedule_changed_hosts()
    local least_now, out = least, INF
    if max_poor <= 0 then least_now = max(least, find_poor_score(focus)) end
    local best = call('ZRANGE', READY, -1, -1)[1]
    local soon = best and unpack_('>d', best) >= least_now and now or find_next_ready_time(least_now)
    local at = 0
    while true do
      local lease = call('ZRANGE', ENDS, at, at, 'WITHSCORES')
      local ends = tonumber(lease[2] or INF) / 1e6
      if ends >= out then break end
      local _, name = decode_lease(call('HGET', LEASES, lease[1]))
      out = min(out, max(ends, ready_at(get_host(name))))
      at = at + 1
    end
    -- A worker restores links from the overflow when it notices that there is room.
    if soon == INF and out == INF then
      local pack_ = call('ZRANGE', PACKS, -1, -1, 'WITHSCORES')
      if pack_[1] and tonumber(pack_[2]) >= least then soon = now end
    end
    return { format_number(soon - now), format_number(out - now) }
  end
end

-- Requeue the links of expired leases before each operation.
local function requeue_expired()
  for _, fingerprint in ipairs(call('ZRANGE', ENDS, '-inf', floor(now * 1e6), 'BYSCORE')) do
    local ended = call('ZSCORE', ENDS, fingerprint) / 1e6
    local h = requeue_link(fingerprint, true)
    -- The worker may have started a request as late as the lease allows.
    h[HOLD_UNTIL] = max(h[HOLD_UNTIL], ended - LATE_SHARE * crawl.lease + crawl_delay(h))
    dirty = true
  end
end

redis.register_function('topicrawl_frontier', function(keys, argv)
  if not begin_call(keys, argv) then return redis.error_reply('WIPED') end
  update_clock()
  requeue_expired()
  local answer = run[ARGV[5]]()
  flush_changes()
  -- Free the memory. The next call reads the keys again.
  loaded_hosts, encoded_hosts, previous_hosts = nil, nil, nil
  links, changed_links, written_links, announcements = nil, nil, nil, nil
  return answer
end)
