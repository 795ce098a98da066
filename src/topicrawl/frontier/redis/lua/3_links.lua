-- Closed links (done, dropped or in the overflow): one code each, in buckets that are split in turn as they fill

local function bucket_key(fingerprint)
  local number = unpack_('>I4', fingerprint)
  local found = number % (2 * level)
  if found >= crawl.buckets then found = number % level end
  return prefix .. ':known:' .. found
end

local function split_bucket()
  local new, moved, removed = crawl.buckets, {}, {}
  local from = prefix .. ':known:' .. (new - level)
  local entries = call('HGETALL', from)
  for i = 1, #entries, 2 do
    if unpack_('>I4', entries[i]) % (2 * level) == new then
      moved[#moved + 1], moved[#moved + 2] = entries[i], entries[i + 1]
      removed[#removed + 1] = entries[i]
    end
  end
  if removed[1] then
    call('HSET', prefix .. ':known:' .. new, unpack(moved))
    call('HDEL', from, unpack(removed))
  end
  crawl.buckets = new + 1
  level = bucket_level()
end

-- Most hosts have few closed links or none: a bit set of fingerprints (a Bloom filter) saves most lookups.
local function may_be_closed(h, fingerprint)
  return band(h[CLOSED_BITS], lshift(1, byte(fingerprint, 9))) ~= 0
end

local function close_link(fingerprint, code, h)
  if not may_be_closed(h, fingerprint) then
    h[CLOSED_BITS] = bor(h[CLOSED_BITS], lshift(1, byte(fingerprint, 9)))
    mark_for_save(h)
  end
  if call('HSET', bucket_key(fingerprint), fingerprint, code) == 1 then
    crawl.closed = crawl.closed + 1
    if crawl.closed > LINKS_PER_BUCKET * crawl.buckets then split_bucket() end
  end
end

-- Return the code of a link that is neither waiting nor leased, or a false value.
local function get_closed(fingerprint, h)
  return may_be_closed(h, fingerprint) and call('HGET', bucket_key(fingerprint), fingerprint)
end

local function remove_closed(fingerprint)
  crawl.closed = crawl.closed - call('HDEL', bucket_key(fingerprint), fingerprint)
end

local function encode_reason(reason, kind)
  if reason_codes[reason] then return reason_codes[reason] * 3 + kind end
  local number = call('HGET', REASONS, reason)
  if not number then
    number = call('HLEN', REASONS)
    -- There are few reasons, except those that contain a URL.
    if number >= 1000 or sub(reason, 1, 6) == 'moved ' then return kind .. reason end
    call('HSET', REASONS, reason, number)
  end
  reason_codes[reason] = number
  return number * 3 + kind
end

local function decode_kind(code)
  local number = tonumber(code)
  if number then return number % 3 end
  if sub(code, 1, 1) == 'D' then return DROPPED end
  if sub(code, 1, 1) == 'A' then return IN_OVERFLOW end
  return tonumber(sub(code, 1, 1))
end

-- Waiting and leased links

local function decode_link(fingerprint, stored)
  local link = false
  if stored then
    local score, first, number, attempts, depth, length = unpack_(LINK, stored)
    link = {
      fingerprint = fingerprint, score = score, first = first, number = number, attempts = attempts, depth = depth,
      text = sub(stored, LINK_SIZE + 1, LINK_SIZE + length), priority = sub(stored, LINK_SIZE + length + 1) }
  end
  links[fingerprint] = link
  return link
end

local function get_link(fingerprint)
  local link = links[fingerprint]
  if link == nil then return decode_link(fingerprint, call('HGET', LINKS, fingerprint)) end
  -- A link that was added by this call is encoded already and is rarely needed again.
  if type(link) == 'string' then return decode_link(fingerprint, link) end
  return link
end

local function encode_link(link)
  return pack(LINK, link.score, link.first, link.number, link.attempts, link.depth, #link.text)
    .. link.text .. link.priority
end

-- A lease does not rewrite the link, so check the leases. Most hosts have no leased links.
local function is_leased(fingerprint, h)
  return h[LEASED] > 0 and call('HEXISTS', LEASES, fingerprint) == 1
end

local function link_rank(link)
  return LAST_RANK - link.number
end

local function store_link(link)
  links[link.fingerprint], changed_links[link.fingerprint] = link, true
end

local function store_encoded(fingerprint, text)
  links[fingerprint] = text
  written_links[written_count + 1], written_links[written_count + 2] = fingerprint, text
  written_count = written_count + 2
end

-- Remove a link from the waiting links of its host.
local function remove_waiting(link, h)
  local rank = link_rank(link)
  local at = find_best_link(h, rank, link.fingerprint)
  if at == 1 then
    remove_best_link(h)
  elseif at then
    h[BEST_LINKS] = sub(h[BEST_LINKS], 1, at - 1) .. sub(h[BEST_LINKS], at + RANKED_SIZE)
    mark_for_save(h)
  else
    flush_queue(h)
    call('ZREM', queue_key(h), pack(MEMBER, rank, link.fingerprint))
  end
end

-- Move a waiting link after a change of its score.
local function reposition_link(link, h)
  local rank = link_rank(link)
  if h[TOP] == rank and link.score >= h[SCORE] then
    set_best_links(h, pack(RANKED_LINK, link.score, rank, link.fingerprint) .. sub(h[BEST_LINKS], RANKED_SIZE + 1))
  elseif belongs_in_queue(h, link.score, rank) and not find_best_link(h, rank, link.fingerprint) then
    append_to_queue(h, link.score, pack(MEMBER, rank, link.fingerprint))
  else
    remove_waiting(link, h)
    insert_link(link.fingerprint, link.score, rank, h)
  end
end

local function delete_link(fingerprint)
  links[fingerprint], changed_links[fingerprint] = false, true
end

local function drop_link(fingerprint, code_, h)
  delete_link(fingerprint)
  close_link(fingerprint, code_, h)
  crawl.waiting, crawl.dropped = crawl.waiting - 1, crawl.dropped + 1
end

local function drop_host_links(h)
  local budget = encode_reason('host_budget', DROPPED)
  move_all_to_queue(h)
  if not h[HAS_MORE] then return end
  for _, each in ipairs(call('ZRANGE', queue_key(h), 0, -1)) do
    drop_link(sub(each, 7), budget, h)
  end
  call('DEL', queue_key(h))
end

-- Drop the worst waiting links to make room for many. Their code keeps the score that a better offer must exceed.
local function drop_worst_links()
  local surplus = crawl.waiting - floor(crawl.capacity * 0.9)
  local worst = {}
  for _, name in ipairs(call('HKEYS', HOSTS)) do get_host(name) end
  for _, h in pairs(loaded_hosts) do move_all_to_queue(h) end
  for name in pairs(loaded_hosts) do
    local found = call('ZRANGE', prefix .. ':queue:' .. name, 0, surplus - 1, 'WITHSCORES')
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
    call('ZREM', prefix .. ':queue:' .. name, each)
    drop_link(sub(each, 7), 'D' .. pack('<d', score), loaded_hosts[name])
  end
end
