-- Asks Countersign whether a request may pass: http-request lua.countersign ORIGIN ORIGIN
-- txn.countersign_needs is what the route needs. Without a clear yes nobody passes.

local service = assert(os.getenv("COUNTERSIGN_SERVICE"), "COUNTERSIGN_SERVICE is not set")

local identity = {
  "x-countersign-subject",
  "x-countersign-username",
  "x-countersign-customer",
  "x-countersign-client",
  "x-countersign-partner",
  "x-countersign-scope",
  "x-countersign-accounts",
  "x-countersign-grant",
  "x-countersign-auth-time",
  "x-countersign-acr",
  "x-countersign-cnf",
  "x-countersign-expires",
  "x-countersign-assertion",
}

-- All lines of a header: what is sent twice is judged as twice.
local function lines_of(headers, name)
  local found = {}
  for place = 0, #(headers[name] or {}) do
    found[#found + 1] = headers[name] and headers[name][place]
  end
  return found
end

local function ask(origins, question)
  for _, origin in ipairs(origins) do
    local answer = core.httpclient():get({
      url = origin .. "/forward-auth/forwarded?" .. question.needs,
      headers = question.headers,
    })
    if answer and answer.status and answer.status > 0 and answer.status < 500 then
      return answer
    end
  end
end

local function refuse(txn, answer)
  local is_no = answer and (answer.status == 401 or answer.status == 403 or answer.status == 429)
  local reply = txn:reply({ status = is_no and answer.status or 503 })
  if is_no then
    for _, name in ipairs({ "www-authenticate", "content-type", "retry-after", "dpop-nonce" }) do
      local value = answer.headers[name]
      if value then
        reply:add_header(name, value[0])
      end
    end
    reply:set_body(answer.body or "")
  end
  reply:add_header("cache-control", "no-store")
  txn:done(reply)
end

core.register_action("countersign", { "http-req" }, function(txn, ...)
  local headers = txn.http:req_get_headers()
  local answer = ask({ ... }, {
    needs = txn:get_var("txn.countersign_needs"),
    headers = {
      ["x-countersign-service"] = { service },
      ["authorization"] = lines_of(headers, "authorization"),
      ["dpop"] = lines_of(headers, "dpop"),
      ["x-forwarded-method"] = { txn.f:method() },
      ["x-forwarded-proto"] = { txn.f:ssl_fc() == 1 and "https" or "http" },
      ["x-forwarded-host"] = lines_of(headers, "host"),
      ["x-forwarded-uri"] = { txn.f:pathq() },
    },
  })
  if not answer or answer.status ~= 200 then
    return refuse(txn, answer)
  end
  for _, name in ipairs(identity) do
    local value = answer.headers[name]
    txn.http:req_set_header(name, value and value[0] or "")
  end
end, 2)
