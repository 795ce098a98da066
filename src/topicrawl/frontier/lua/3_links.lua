-- Links that are done or dropped: a code each, in buckets that are split one after the other as they fill.

local function bucket(mark)
  local number = unpack_('>I4', mark)
  local found = number % (2 * level)
  if found >= c.buckets then found = number % level end
  return base .. ':known:' .. found
end

local function split()
  local new, moved, gone = c.buckets, {}, {}
  local from = base .. ':known:' .. (new - level)
  local all = call('HGETALL', from)
  for i = 1, #all, 2 do
    if unpack_('>I4', all[i]) % (2 * level) == new then
      moved[#moved + 1], moved[#moved + 2] = all[i], all[i + 1]
      gone[#gone + 1] = all[i]
    end
  end
  if gone[1] then
    call('HSET', base .. ':known:' .. new, unpack(moved))
    call('HDEL', from, unpack(gone))
  end
  c.buckets = new + 1
  level = round()
end

-- Most hosts have nothing that is closed, or little: a bit for each mark saves most of the looks.
local function may_be_shut(h, mark)
  return band(h[SHUT], lshift(1, byte(mark, 9))) ~= 0
end

local function close(mark, code, h)
  if not may_be_shut(h, mark) then
    h[SHUT] = bor(h[SHUT], lshift(1, byte(mark, 9)))
    save(h)
  end
  if call('HSET', bucket(mark), mark, code) == 1 then
    c.closed = c.closed + 1
    if c.closed > LOAD * c.buckets then split() end
  end
end

-- What is known of a link that does not wait and is not out.
local function closed(mark, h)
  return may_be_shut(h, mark) and call('HGET', bucket(mark), mark)
end

local function open(mark)
  c.closed = c.closed - call('HDEL', bucket(mark), mark)
end

local function code(reason, kind)
  if codes[reason] then return codes[reason] * 3 + kind end
  local number = call('HGET', REASONS, reason)
  if not number then
    number = call('HLEN', REASONS)
    -- Most reasons are few; those that name an address are not.
    if number >= 1000 or sub(reason, 1, 6) == 'moved ' then return kind .. reason end
    call('HSET', REASONS, reason, number)
  end
  codes[reason] = number
  return number * 3 + kind
end

local function kind_of(code)
  local number = tonumber(code)
  if number then return number % 3 end
  if sub(code, 1, 1) == 'D' then return DROPPED end
  if sub(code, 1, 1) == 'A' then return AWAY end
  return tonumber(sub(code, 1, 1))
end

-- Links that wait or are out

local function read(mark, stored)
  local link = false
  if stored then
    local score, first, number, attempts, depth, length = unpack_(LINK, stored)
    link = {
      mark = mark, score = score, first = first, number = number, attempts = attempts, depth = depth,
      text = sub(stored, LINK_SIZE + 1, LINK_SIZE + length), place = sub(stored, LINK_SIZE + length + 1) }
  end
  links[mark] = link
  return link
end

local function link_of(mark)
  local link = links[mark]
  if link == nil then return read(mark, call('HGET', LINKS, mark)) end
  -- What came in during this run is packed already, and is seldom asked for again.
  if type(link) == 'string' then return read(mark, link) end
  return link
end

local function packed(link)
  return pack(LINK, link.score, link.first, link.number, link.attempts, link.depth, #link.text)
    .. link.text .. link.place
end

-- A link that goes out is not written anew; of most hosts nothing is out.
local function is_out(mark, h)
  return h[LEASED] > 0 and call('HEXISTS', LEASES, mark) == 1
end

local function rank_of(link)
  return LAST_RANK - link.number
end

local function store(link)
  links[link.mark], changed_links[link.mark] = link, true
end

local function store_packed(mark, text)
  links[mark] = text
  kept[kept_count + 1], kept[kept_count + 2] = mark, text
  kept_count = kept_count + 2
end

-- A link waits no longer.
local function step_out(link, h)
  local rank = rank_of(link)
  local at = place_of(h, rank, link.mark)
  if at == 1 then
    advance(h)
  elseif at then
    h[LINE] = sub(h[LINE], 1, at - 1) .. sub(h[LINE], at + STAND_SIZE)
    save(h)
  else
    line_written(h)
    call('ZREM', queue_of(h), pack(MEMBER, rank, link.mark))
  end
end

-- A link that waits has another score.
local function move(link, h)
  local rank = rank_of(link)
  if h[TOP] == rank and link.score >= h[SCORE] then
    set_line(h, pack(STAND, link.score, rank, link.mark) .. sub(h[LINE], STAND_SIZE + 1))
  elseif is_behind(h, link.score, rank) and not place_of(h, rank, link.mark) then
    stand_behind(h, link.score, pack(MEMBER, rank, link.mark))
  else
    step_out(link, h)
    line_up(link.mark, link.score, rank, h)
  end
end

local function forget(mark)
  links[mark], changed_links[mark] = false, true
end

local function drop(mark, code_, h)
  forget(mark)
  close(mark, code_, h)
  c.waiting, c.dropped = c.waiting - 1, c.dropped + 1
end

local function drop_host(h)
  local budget = code('host_budget', DROPPED)
  retreat(h)
  if not h[MORE] then return end
  for _, each in ipairs(call('ZRANGE', queue_of(h), 0, -1)) do
    drop(sub(each, 7), budget, h)
  end
  call('DEL', queue_of(h))
end

-- The worst go, and make room for many. What remains of them is the score to beat.
local function sweep()
  local surplus = c.waiting - floor(c.capacity * 0.9)
  local worst = {}
  for _, name in ipairs(call('HKEYS', HOSTS)) do host(name) end
  for _, h in pairs(seen) do retreat(h) end
  for name in pairs(seen) do
    local found = call('ZRANGE', base .. ':queue:' .. name, 0, surplus - 1, 'WITHSCORES')
    for i = 1, #found, 2 do
      worst[#worst + 1] = { tonumber(found[i + 1]), found[i], name }
    end
  end
  table.sort(worst, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  for i = 1, surplus do
    local score, each, name = worst[i][1], worst[i][2], worst[i][3]
    call('ZREM', base .. ':queue:' .. name, each)
    drop(sub(each, 7), 'D' .. pack('<d', score), seen[name])
  end
end
