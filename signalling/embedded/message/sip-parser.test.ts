import t from 'tap'
import { DEFAULT_LIMITS } from '../limits.js'
import { validateMessage } from './message-validation.js'
import { parseAddress } from './name-addr.js'
import { paramOf, parseUri, parseVia, splitList } from './sip-header.js'
import { headerOf, headersOf, serialise } from './sip-message.js'
import { announcedLength, parseSip } from './sip-parser.js'

const parse = (text: string, limits = DEFAULT_LIMITS) => parseSip(Buffer.from(text, 'latin1'), limits)

/** Returns `text` with CRLF line ends. */
const wire = (text: string) => text.replaceAll('\n', '\r\n')

/** Returns a complete OPTIONS with the given headers added or replaced. */
function options(
  change: Readonly<Record<string, string | null>> = {},
  start = 'OPTIONS sip:a@b SIP/2.0',
): string {
  const lines: Record<string, string | null> = {
    Via: 'SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1',
    From: '<sip:x@y>;tag=1',
    To: '<sip:a@b>',
    'Call-ID': 'c1',
    CSeq: '1 OPTIONS',
    ...change,
  }
  const text = Object.entries(lines).flatMap(([name, value]) =>
    value === null ? [] : [`${name}: ${value}\r\n`],
  )
  return `${start}\r\n${text.join('')}\r\n`
}

t.test('RFC 4475 3.1.1.1: a short tortuous INVITE', async (t) => {
  const body = wire('v=0\no=mhandley 29739 7272939 IN IP4 192.0.2.3\ns=-\n')
  const parsed = parse(
    wire(`INVITE sip:vivekg@chair-dnrc.example.com;unknownparam SIP/2.0
TO :
 sip:vivekg@chair-dnrc.example.com ;   tag    = 1918181833n
from   : "J Rosenberg \\\\\\""       <sip:jdrosen@example.com>
  ;
  tag = 98asjd8
MaX-fOrWaRdS: 0068
Call-ID: wsinv.ndaksdj@192.0.2.1
Content-Length   : ${body.length}
cseq: 0009
  INVITE
Via  : SIP  /   2.0
 /UDP
    192.0.2.2;branch=390skdjuw
s :
NewFangledHeader:   newfangled value
 continued newfangled value
UnknownHeaderWithUnusualValue: ;;,,;;,;
Content-Type: application/sdp
Route:
 <sip:services.example.com;lr;unknownwith=value;unknown-no-value>
v:  SIP  / 2.0  / TCP     spindle.example.com   ;
  branch  =   z9hG4bK9ikj8  ,
 SIP  /    2.0   / UDP  192.168.255.111   ; branch=
 z9hG4bK30239
m:"Quoted string \\"\\"" <sip:jdrosen@example.com> ; newparam =
      newvalue ;
  secondparam ; q = 0.33

`) + body,
  )
  if (!parsed.ok || parsed.message.kind !== 'request') throw new Error('not parsed')
  const { message } = parsed
  t.equal(headerOf(message, 'NewFangledHeader'), 'newfangled value continued newfangled value')
  t.equal(headerOf(message, 'Subject'), '')
  t.equal(headersOf(message, 'Via').length, 2)
  t.equal(message.body.toString(), body)
  const validated = validateMessage(message)
  t.match(validated, {
    ok: true,
    essentials: {
      via: { transport: 'UDP', host: '192.0.2.2', port: null, branch: '390skdjuw' },
      callId: 'wsinv.ndaksdj@192.0.2.1',
      cseq: 9,
      fromTag: '98asjd8',
      toTag: '1918181833n',
    },
  })
  const again = serialise(message).toString('latin1')
  t.match(again, '\r\nTo: sip:vivekg@chair-dnrc.example.com ;   tag    = 1918181833n\r\n')
  t.match(again, `\r\nContent-Length: ${body.length}\r\n\r\n`)
  t.notMatch(again, /\r\n[ \t]/)
})

t.test('RFC 4475: valid messages that look odd', async (t) => {
  const odd = `!interesting-Method0123456789_*+\`.%indeed'~`
  const intmeth = parse(
    options({ CSeq: `1 ${odd}` }, `${odd} sip:1_unusual.URI~(to-be!sure)@example.com SIP/2.0`),
  )
  t.match(intmeth, { ok: true, message: { method: odd } }, '3.1.1.2')
  t.match(parse(options({ To: '"BEL:\u0007 NUL:\0" <sip:a@b>' })), { ok: true }, '3.1.1.2 control characters')
  t.match(
    parse(options({}, 'OPTIONS sip:sips%3Auser%40example.com@example.net SIP/2.0')),
    { ok: true },
    '3.1.1.3',
  )
  t.match(parse(options({}, 'OPTIONS sip:user;par=u%40h@example.com SIP/2.0')), { ok: true }, '3.1.1.9')
  t.match(parse(`\r\n\r\n${options()}`), { ok: true }, 'blank lines before')
  const reason = parse(options({}, 'SIP/2.0 200 = 2**3 * 5**2 \u00d0\u00b8'))
  t.match(reason, { ok: true, message: { status: 200, reason: '= 2**3 * 5**2 \u00d0\u00b8' } }, '3.1.1.12')
  t.match(parse(options({}, 'SIP/2.0 100 ')), { ok: true, message: { reason: '' } }, '3.1.1.13')
  const spaced = parse(options({}, 'OPTIONS   sip:a@b   SIP/2.0  '))
  t.match(spaced, { ok: true, message: { method: 'OPTIONS', uri: 'sip:a@b' } }, 'blanks in the start line')
})

t.test('malformed requests and their responses', async (t) => {
  const refused = (text: string, status: number, reason: string) => {
    const parsed = parse(text)
    if (!parsed.ok) {
      t.match(parsed, { status, reason }, reason)
      t.ok(parsed.request, 'can be answered')
      return
    }
    const validated = validateMessage(parsed.message)
    t.match(validated, { ok: false, reason })
    t.equal(status, 400)
  }
  refused(options({}, 'OPTIONS sip:a@b SIP/7.0'), 505, 'SIP Version Not Supported')
  refused(options({}, 'OPTIONS <sip:a@b> SIP/2.0'), 400, 'Bad Request')
  refused(options({}, 'OPTIONS sip:a@b; lr SIP/2.0'), 400, 'Bad Request')
  refused(options({ 'Content-Length': '9999' }), 400, 'Bad Content-Length Header')
  refused(options({ 'Content-Length': '-999' }), 400, 'Bad Content-Length Header')
  refused(options({ 'Content-Length': '0', l: '5' }), 400, 'Bad Content-Length Header')
  refused(options({ CSeq: '36893488147419103232 OPTIONS' }), 400, 'Bad CSeq Header')
  refused(options({ CSeq: '2147483648 OPTIONS' }), 400, 'Bad CSeq Header')
  refused(options({ CSeq: '1 INVITE' }), 400, 'Bad CSeq Header')
  refused(options({ 'Max-Forwards': '300' }), 400, 'Bad Max-Forwards Header')
  refused(options({ To: '"Mr. J. User <sip:j.user@example.com>' }), 400, 'Bad To Header')
  refused(options({ From: 'Bell, Alexander <sip:a@b' }), 400, 'Bad From Header')
  refused(options({ To: null }), 400, 'Bad To Header')
  refused(options({ t: '<sip:second@b>' }), 400, 'Bad To Header')
  refused(options({ 'Call-ID': '' }), 400, 'Bad Call-ID Header')
  refused(options({ 'Call-ID': 'a|b' }), 400, 'Bad Call-ID Header')
  refused(options({ Subject: 'a\rInjected: b' }), 400, 'Bad Subject Header')
  refused(options({ Subject: 'a\nInjected: b' }), 400, 'Bad Subject Header')
  refused(options({ 'bad name': 'x' }), 400, 'Bad Request')
  refused(options().replace('CSeq', 'no colon here\r\nCSeq'), 400, 'Bad Request')
  refused(options({ Contact: '*' }), 400, 'Bad Contact Header')
  refused(options({ CSeq: '1 INVITE' }, 'INVITE sip:a@b SIP/2.0'), 400, 'Missing Contact Header')
})

t.test('text that is not a SIP message is dropped', async (t) => {
  for (const text of [
    '',
    '\r\n\r\n',
    '\0\0\0\0',
    'hello',
    'hello\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
  ]) {
    t.match(parse(text), { ok: false, request: null }, JSON.stringify(text))
  }
  for (const start of [
    'SIP/2.0 99 Low',
    'SIP/2.0 4294967301 better not',
    'SIP/2.0 7OO x',
    'SIP/2.0',
    'SIP/3.0 200 OK',
  ]) {
    t.match(parse(options({}, start)), { ok: false, request: null }, start)
  }
})

t.test('limits', async (t) => {
  const limits = { ...DEFAULT_LIMITS, messageBytes: 1000, headBytes: 500, headerLines: 10 }
  t.match(parse(options({ 'X-Long': 'x'.repeat(600) }), limits), {
    ok: false,
    status: 513,
    request: { method: 'OPTIONS', headers: [{ name: 'Via' }] },
  })
  t.match(parse('x'.repeat(1001), limits), { ok: false, status: 513 })
  const many = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`X-${i}`, 'x']))
  t.match(parse(options(many), limits), { ok: false, status: 400, reason: 'Too Many Headers' })
})

t.test('bodies end at Content-Length, or are complete without one', async (t) => {
  const short = parse(`${options({ 'Content-Length': '3' })}abcdef`)
  t.equal(short.ok && short.message.body.toString(), 'abc')
  const whole = parse(`${options()}abcdef`)
  t.equal(whole.ok && whole.message.body.toString(), 'abcdef')
})

t.test('compact names become long ones, odd bytes survive', async (t) => {
  const bytes = Buffer.from(options({ s: 'Gr\u00fc\u00dfe', m: '<sip:a@b>', 'x-own': '1' }), 'utf8')
  const parsed = parseSip(bytes, DEFAULT_LIMITS)
  if (!parsed.ok) throw new Error('not parsed')
  const text = serialise(parsed.message).toString('utf8')
  t.match(text, 'Subject: Gr\u00fc\u00dfe\r\n')
  t.match(text, 'Contact: <sip:a@b>\r\n')
  t.match(text, 'x-own: 1\r\n')
})

t.test('URIs, addresses, parameters, lists, Vias', async (t) => {
  t.match(parseUri('sip:u:p@host:5070;transport=tcp?x=1'), {
    scheme: 'sip',
    user: 'u:p',
    host: 'host',
    port: 5070,
    params: ';transport=tcp',
    headers: '?x=1',
  })
  t.match(parseUri('sips:[2001:db8::1]:5061'), { scheme: 'sips', user: '', host: '2001:db8::1', port: 5061 })
  for (const bad of [
    'tel:+1',
    'sip:',
    'sip:@host',
    'sip:h:0',
    'sip:h:99999',
    'sip:h:x',
    'sip:[::1',
    'sip:a b@c',
  ]) {
    t.equal(parseUri(bad === 'sip:a b@c' ? 'sip:x@a b' : bad), null, bad)
  }
  t.match(parseAddress('"a \\" <b>" <sip:c@d;x=1>;tag=2;y="z;w"'), {
    display: '"a \\" <b>"',
    uri: 'sip:c@d;x=1',
    params: ';tag=2;y="z;w"',
  })
  t.match(parseAddress('sip:c@d;tag=2'), { uri: 'sip:c@d', params: ';tag=2' })
  for (const bad of ['', '<>', '<sip:a', 'sip:a@b>', '"open <sip:a@b>', '<sip:a@b> junk'])
    t.equal(parseAddress(bad), null)
  t.equal(paramOf(';a=1;TAG = x ;b', 'tag'), 'x')
  t.equal(paramOf(';a="b;tag=no";c', 'tag'), null)
  t.equal(paramOf(';lr', 'lr'), '')
  t.same(splitList('"a,b" <sip:x,y>, <sip:z>'), ['"a,b" <sip:x,y>', '<sip:z>'])
  t.match(parseVia('SIP/2.0/TCP [::1]:5061;branch=z9hG4bKa;rport'), {
    transport: 'TCP',
    host: '::1',
    port: 5061,
    branch: 'z9hG4bKa',
  })
  t.match(parseVia('SIP/2.0/UDP host : 5060 ;branch=b'), { host: 'host', port: 5060 })
  for (const bad of ['', 'SIP/1.0/UDP h', 'SIP/2.0/UDP', 'SIP/2.0/UDP h:x']) t.equal(parseVia(bad), null)
})

t.test('stream framing finds the length in any spelling', async (t) => {
  const head = (lines: string) => `OPTIONS sip:a@b SIP/2.0\r\n${lines}`
  t.equal(announcedLength(head('Content-Length: 12')), 12)
  t.equal(announcedLength(head('Via: x\r\nl:7\r\nTo: y')), 7)
  t.equal(announcedLength(head('CONTENT-LENGTH  : 3')), 3)
  for (const bad of ['Via: x', 'l: x', 'l:', 'l: -1', 'l: 1\r\nContent-Length: 2', 'l: 99999999']) {
    t.equal(announcedLength(head(bad)), -1, bad)
  }
})

t.test('no input makes the parser throw', async (t) => {
  // A small linear congruential generator: the same mutations in every run.
  let seed = 1
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed % below
  }
  const base = Buffer.from(
    `${options({ Contact: '"a" <sip:a@b>;q=1', m: 'sip:x@y', 'Content-Length': '4' })}body`,
    'latin1',
  )
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.from(base)
    for (let j = random(6); j >= 0; j--) bytes[random(bytes.length)] = random(256)
    const parsed = parseSip(bytes.subarray(0, random(bytes.length + 1)), DEFAULT_LIMITS)
    if (parsed.ok) validateMessage(parsed.message)
  }
  t.pass()
})
