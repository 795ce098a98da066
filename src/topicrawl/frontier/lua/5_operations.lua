-- What can be asked for

local run = {}

function run.add()
  return absorb_all(ARGV[6], false)
end

function run.reopen()
  return absorb_all(ARGV[6], true)
end

-- The scores of the last links that were leased, by any worker, as bytes

local function note_leases(out)
  local scores = { c.lately or '' }
  for i, lease in ipairs(out) do scores[i + 1] = pack('<d', lease.score) end
  c.lately = sub(concat(scores), -8 * LATELY)
end

-- What is worth less gets a few hands only.
local function least_worth(focus)
  local best = 0
  for i = 1, focus > 0 and #(c.lately or '') or 0, 8 do best = max(best, (unpack_('<d', c.lately, i))) end
  return best > 0 and focus * best or -INF
end

local function forget_lease(score)
  local bytes, lately = pack('<d', score), c.lately or ''
  for i = 1, #lately, 8 do
    if sub(lately, i, i + 7) == bytes then
      c.lately = sub(lately, 1, i - 1) .. sub(lately, i + 8)
      return
    end
  end
end

local function is_ready(h)
  return h[TOP] > 0 and h[LEASED] < PARALLEL and h[PAGES] + h[LEASED] < HOST_PAGES and ready_at(h) <= now
end

-- Of hosts that are still ready after one of their links went out, where the one with the best link stands.
local function best_of(hosts)
  local found
  for i, h in ipairs(hosts) do
    local other = hosts[found]
    if not other or precedes(h[SCORE], h[TOP], other[SCORE], other[TOP]) then found = i end
  end
  return found
end

-- Hand out up to so many of the best links, none below `least`. Returns whether there may be more.
local function best_out(count, least, out)
  local names, again, skipped = {}, {}, false
  for i, top in ipairs(call('ZRANGE', READY, -count, -1)) do names[i] = sub(top, 15) end
  local at = #names
  read_hosts(names)
  if c.pace ~= '' and names[1] then
    for i, said in ipairs(call('ZMSCORE', c.pace, unpack(names))) do paces[names[i]] = said end
  end
  while count > 0 do
    local i, h = best_of(again), at > 0 and host(names[at])
    local other = again[i]
    if other and not (h and precedes(h[SCORE], h[TOP], other[SCORE], other[TOP])) then
      h = other
      table.remove(again, i)
    elseif not h then
      return skipped
    else
      at = at - 1
    end
    if h[SCORE] < least then return false end
    -- After a restart of the server a host may have to wait that was ready before.
    if ready_at(h) <= now and not is_taken(h) then
      out[#out + 1] = hand_out(h)
      if is_ready(h) then again[#again + 1] = h end
      count = count - 1
    else
      skipped = true
      touch(h)
    end
  end
  return false
end

local function file_touched()
  for _, h in pairs(seen) do
    if h[CHANGE] >= FILE then file(h) end
  end
  write_files()
end

-- count, focus, how many may be out in all where none is worth it → token, host, link, …
function run.lease()
  local count, least, out = tonumber(ARGV[6]), least_worth(tonumber(ARGV[7])), {}
  if c.paused == 1 then return out end
  if c.pages > 0 then count = min(count, c.pages - c.kept - c.leased) end
  promote()
  if c.pace ~= '' then call('ZREMRANGEBYSCORE', c.pace, '-inf', time) end
  -- What overdue leases gave back, and what cannot be asked after all, is filed before anything is chosen.
  local more = count > 0
  while more do
    file_touched()
    more = best_out(count - #out, least, out)
  end
  local few = min(count, tonumber(ARGV[8]) - c.leased)
  more = least > -INF and not out[1] and few > 0
  while more do
    file_touched()
    more = best_out(few - #out, -INF, out)
  end
  if out[1] then
    note_leases(out)
    dirty = true
  end
  return handed_out(out)
end

-- for each: token, mark, wait, unused, reason, offers → a digit each, 1 or 0; pages kept in all
function run.complete()
  local blob, at, count, named = ARGV[6], 1, 0, 0
  local tokens, marks, waits, unused, reasons, offers = {}, {}, {}, {}, {}, {}
  local held, names, gone, maybe, answers = {}, {}, {}, {}, {}
  while at <= #blob do
    count = count + 1
    tokens[count], marks[count], waits[count], unused[count], reasons[count], named, at = unpack_(END, blob, at)
    offers[count], at = offered(blob, at, named)
  end
  for i, stored in ipairs(call('HMGET', LEASES, unpack(marks))) do
    local token, name
    if stored then token, name = read_lease(stored) end
    held[i] = token == tokens[i] and name
    if held[i] then gone[#gone + 1], names[#names + 1] = marks[i], name end
  end
  if c.pace ~= '' and names[1] then
    for i, want in ipairs(call('HMGET', WANTED, unpack(names))) do wants[names[i]] = want end
  end
  for i = 1, count do
    if held[i] then hosts_of(offers[i], names) end
  end
  read_hosts(names)
  for i = 1, count do
    if held[i] then may_be_there(offers[i], maybe) end
  end
  read_links(maybe)
  for i, name in ipairs(held) do
    if name then
      local h, mark, reason = touch(host(name)), marks[i], reasons[i]
      h[LEASED], h[PAGES] = h[LEASED] - 1, h[PAGES] + 1
      if unused[i] == 1 then h[LAST] = h[LAST] - delay_of(h) end
      postpone(h, waits[i])
      forget(mark)
      close(mark, code(reason, COMPLETED), h)
      c.leased, c.done = c.leased - 1, c.done + 1
      if reason == 'fetched' then c.kept = c.kept + 1 end
      tell_free(h)
      if is_spent(h) then drop_host(h) end
      absorb(offers[i], false)
    else
      c.refused = (c.refused or 0) + 1
    end
    answers[i] = name and '1' or '0'
  end
  -- Until here, what is yet to end is out for the pages before it.
  all('HDEL', LEASES, gone)
  all('ZREM', ENDS, gone)
  return { concat(answers), c.kept }
end

-- token, mark, wait, count, unused → 1 or 0
function run.give_back()
  local h = lease_of(ARGV[6], ARGV[7])
  if not h then
    c.refused = (c.refused or 0) + 1
    return 0
  end
  if ARGV[10] == '1' then
    h[LAST] = h[LAST] - delay_of(h)
    forget_lease(link_of(ARGV[7]).score)
  end
  postpone(h, tonumber(ARGV[8]))
  come_back(ARGV[7], ARGV[9] == '1')
  tell_free(h)
  return 1
end

-- all that this worker has out
function run.leave()
  local all = call('HGETALL', LEASES)
  for i = 1, #all, 2 do
    local _, _, whose = read_lease(all[i + 1])
    if whose == worker then
      local h = come_back(all[i], ARGV[6] == '1')
      -- It was killed, perhaps right after a request.
      if ARGV[6] == '1' then h[HOLD] = max(h[HOLD], now + delay_of(h)) end
      tell_free(h)
    end
  end
  return 0
end

local function extend(at, answers)
  for i = at, #ARGV, 2 do
    local h = lease_of(ARGV[i], ARGV[i + 1])
    if h then
      call('ZADD', ENDS, end_of_lease(), ARGV[i + 1])
      tell_out(h)
    end
    answers[#answers + 1] = h and 1 or 0
  end
  return answers
end

-- token, mark → 1 or 0
function run.extend()
  return extend(6, {})
end

-- what the worker says of itself, then token and mark of each lease → paused?, pages kept, pages wanted, 1 or 0 each
function run.beat()
  call('HSET', base .. ':workers', worker, precise(now - c.offset) .. ' ' .. ARGV[6])
  return extend(7, { c.paused, c.kept, c.pages })
end

-- A turn at a host of which nothing is out, for one request: host → seconds to wait, 0 when it is granted
function run.claim()
  local h = touch(host(ARGV[6]))
  local at = ready_at(h)
  if h[LEASED] >= PARALLEL then at = max(at, now + max(delay_of(h), 0.05)) end
  if at <= now and is_taken(h) then at = h[HOLD] end
  if at > now then return precise(at - now) end
  h[HOLD] = now + FRESH + delay_of(h)
  tell(h, h[HOLD])
  return '0'
end

-- reason, then mark and host of each
function run.settle()
  local reason = code(ARGV[6], SETTLED)
  for i = 7, #ARGV, 2 do
    local mark, h = ARGV[i], host(ARGV[i + 1])
    local link = link_of(mark)
    if link then
      if not is_out(mark, h) then
        step_out(link, h)
        forget(mark)
        close(mark, reason, h)
        c.waiting, c.done = c.waiting - 1, c.done + 1
      end
    else
      local old = closed(mark, h)
      local kind = old and kind_of(old)
      if not old or kind == DROPPED or kind == AWAY then
        if kind == DROPPED then c.dropped = c.dropped - 1 end
        if kind == AWAY then c.away = c.away - 1 end
        close(mark, reason, h)
        c.done = c.done + 1
      end
    end
  end
  return 0
end

-- mark, host, score, … → how many waited
function run.rescore()
  local count = 0
  for i = 6, #ARGV, 3 do
    local link = link_of(ARGV[i])
    local h = link and host(ARGV[i + 1])
    if h and not is_out(ARGV[i], h) then
      link.score = unpack_('<d', ARGV[i + 2])
      store(link)
      move(link, h)
      count = count + 1
    end
  end
  return count
end

-- A queue that is too long: its worst links are put away, and come back when there is room.

-- pack, the best score in it, then mark and host of each → how many were put away
function run.put_away()
  local count = 0
  for i = 8, #ARGV, 2 do
    local mark = ARGV[i]
    local link = link_of(mark)
    local h = link and host(ARGV[i + 1])
    -- Meanwhile it may have been leased; then its copy in the pack is of no use, and does no harm.
    if h and not is_out(mark, h) then
      step_out(link, h)
      forget(mark)
      close(mark, 'A' .. pack('<d', link.score), h)
      count = count + 1
    end
  end
  if count > 0 then
    newest = newest + 1
    call('HSET', ATTIC, newest, ARGV[6])
    call('ZADD', PACKS, ARGV[7], newest)
    c.waiting, c.away = c.waiting - count, (c.away or 0) + count
  end
  return count
end

-- number of a pack, then mark, host and link of each → how many came back
function run.take_back()
  local count = 0
  -- Another worker may have been faster.
  if call('ZREM', PACKS, ARGV[6]) == 0 then return 0 end
  call('HDEL', ATTIC, ARGV[6])
  for i = 7, #ARGV, 3 do
    local mark, h = ARGV[i], host(ARGV[i + 1])
    local old = closed(mark, h)
    if old and kind_of(old) == AWAY then
      c.away = c.away - 1
      if is_spent(h) then
        close(mark, code('host_budget', DROPPED), h)
        c.dropped = c.dropped + 1
      else
        open(mark)
        local link = read(mark, ARGV[i + 2])
        link.score = unpack_('<d', sub(old, 2))
        store(link)
        line_up(mark, link.score, rank_of(link), h)
        c.waiting, count = c.waiting + 1, count + 1
      end
    end
  end
  return count
end

function run.set_delay()
  local h = touch(host(ARGV[6]))
  h[OWN] = tonumber(ARGV[7])
  return 0
end

-- host, seconds from now
function run.block()
  touch(host(ARGV[6]))[BLOCKED] = now + tonumber(ARGV[7])
  return 0
end

-- → seconds until a host may be asked, or nothing; and the same for what is out
function run.next_ready()
  promote()
  file_touched()
  local soon, out = INF, INF
  if call('ZCARD', READY) > 0 then
    soon = now
  else
    local first = call('ZRANGE', WAIT, 0, 0, 'WITHSCORES')
    if first[1] then soon = tonumber(first[2]) end
  end
  local at = 0
  while true do
    local lease = call('ZRANGE', ENDS, at, at, 'WITHSCORES')
    local ends = tonumber(lease[2] or INF) / 1e6
    if ends >= out then break end
    local _, name = read_lease(call('HGET', LEASES, lease[1]))
    out = min(out, max(ends, ready_at(host(name))))
    at = at + 1
  end
  -- What was put away comes back when a worker has seen that there is room.
  if soon == INF and out == INF and call('ZCARD', PACKS) > 0 then soon = now end
  return { precise(soon - now), precise(out - now) }
end

-- Nobody waits for a worker that does not answer: what is overdue goes back before anything else is done.
local function take_back_overdue()
  for _, mark in ipairs(call('ZRANGE', ENDS, '-inf', floor(now * 1e6), 'BYSCORE')) do
    local ended = call('ZSCORE', ENDS, mark) / 1e6
    local h = come_back(mark, true)
    -- A request may have left as late as is allowed.
    h[HOLD] = max(h[HOLD], ended - LATE * c.lease + delay_of(h))
    dirty = true
  end
end

redis.register_function('topicrawl_frontier', function(keys, argv)
  if not begin(keys, argv) then return redis.error_reply('WIPED') end
  look_at_the_clock()
  take_back_overdue()
  local answer = run[ARGV[5]]()
  flush()
  -- What was read is not kept until the next run, which begins with what the keys hold.
  seen, plain, was, links, changed_links, kept, told = nil, nil, nil, nil, nil, nil, nil
  return answer
end)
