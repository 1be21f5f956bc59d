import t from 'tap'
import { parseTarget } from '../embedded/routing/target.js'
import {
  calledContact,
  contactItself,
  contactValues,
  flowRoute,
  liveContacts,
  MAX_CONTACTS,
  type RegisteredContact,
  type RegisterRequest,
  register,
} from './registrar-rules.js'

const flow = { transport: 'udp', address: '198.51.100.7', port: 40_123, local: '203.0.113.10:5060' } as const
const NOW = 1_000_000
const ask = (contact: string | null, over: Partial<RegisterRequest> = {}): RegisterRequest => ({
  contact,
  expires: null,
  callId: 'a',
  cseq: '1 REGISTER',
  flow,
  ...over,
})
/** Applies requests one after another, a second apart. The last one may be refused. */
function apply(...requests: readonly RegisterRequest[]) {
  let contacts: readonly RegisteredContact[] = []
  let last = register(contacts, ask(null), NOW)
  for (const [at, request] of requests.entries()) {
    last = register(contacts, request, NOW + at * 1000)
    if (last.kind === 'accepted') contacts = last.contacts
  }
  return { last, contacts }
}
const uris = (contacts: readonly RegisteredContact[]) => contacts.map(({ uri }) => uri)

t.test('a contact is granted what it asks for, up to an hour', async (t) => {
  const lifetime = (contact: string, expires: string | null = null) => {
    const [one] = apply(ask(contact, { expires })).contacts
    return one === undefined ? null : (one.expiresAt - one.registeredAt) / 1000
  }
  t.equal(lifetime('<sip:pbx@10.0.0.5>;expires=120', '600'), 120, 'the parameter wins')
  t.equal(lifetime('<sip:pbx@10.0.0.5>', '600'), 600)
  t.equal(lifetime('sip:pbx@10.0.0.5;expires=90'), 90, 'without brackets it is a parameter of the header')
  t.equal(lifetime('<sip:pbx@10.0.0.5>'), 3600)
  t.equal(lifetime('<sip:pbx@10.0.0.5>', '86400'), 3600)
  t.equal(lifetime('<sip:pbx@10.0.0.5>;expires=soon', 'later'), 3600, 'malformed counts as absent')
  t.equal(lifetime('<sip:pbx@10.0.0.5>', '0'), null)
})

t.test('a lifetime that is too short is refused with 423, and nothing changes', async (t) => {
  const both = '<sip:one@10.0.0.5>;expires=600, <sip:two@10.0.0.5>;expires=59'
  const { last, contacts } = apply(ask(both))
  t.match(last, { kind: 'refused', status: 423, headers: { 'Min-Expires': '60' } })
  t.same(contacts, [])
})

t.test('several contacts: by preference, then the newest first', async (t) => {
  const { contacts } = apply(
    ask('<sip:slow@10.0.0.1>;q=0.2, "Hall, first" <sip:fast@10.0.0.2>;q=0.9'),
    ask('<sip:new@10.0.0.3>', { callId: 'b' }),
    ask('<sip:newer@10.0.0.4>', { callId: 'c' }),
  )
  t.same(uris(contacts), ['sip:newer@10.0.0.4', 'sip:new@10.0.0.3', 'sip:fast@10.0.0.2', 'sip:slow@10.0.0.1'])
  t.equal(
    contactValues(contacts.slice(2), NOW + 10_000),
    '<sip:fast@10.0.0.2>;q=0.9;expires=3590, <sip:slow@10.0.0.1>;q=0.2;expires=3590',
  )
})

t.test('a refreshed contact keeps its place, whatever else its URI says by now', async (t) => {
  const moved = { ...flow, port: 50_000 }
  const { contacts } = apply(
    ask('<sip:pbx@PBX.example:5060;line=abc>'),
    ask('<sip:pbx@pbx.example:5060;line=def>', { cseq: '2 REGISTER', flow: moved }),
  )
  t.match(contacts, [{ uri: 'sip:pbx@pbx.example:5060;line=def', cseq: 2, flow: moved }])
  t.equal(contacts.length, 1)
  const other = apply(
    ask('<sip:pbx@pbx.example>'),
    ask('<sip:pbx@pbx.example;transport=tcp>', { callId: 'b' }),
  )
  t.equal(other.contacts.length, 2, 'another transport is another place')
})

t.test('a REGISTER out of order is refused and changes nothing', async (t) => {
  const first = ask('<sip:pbx@10.0.0.5>', { cseq: '7 REGISTER' })
  for (const cseq of ['7 REGISTER', '3 REGISTER']) {
    for (const late of [ask('<sip:pbx@10.0.0.5>;expires=0', { cseq }), ask('*', { cseq, expires: '0' })]) {
      const { last, contacts } = apply(first, late)
      t.match(last, { kind: 'refused', status: 500 }, cseq)
      t.equal(contacts.length, 1)
    }
  }
  t.equal(
    apply(first, ask('<sip:pbx@10.0.0.5>', { cseq: '1 REGISTER', callId: 'restarted' })).last.kind,
    'accepted',
  )
})

t.test('removal: one contact, all with *, and what * may not be mixed with', async (t) => {
  const two = ask('<sip:one@10.0.0.5>, <sip:two@10.0.0.5>')
  const next = { cseq: '2 REGISTER' }
  t.same(uris(apply(two, ask('<sip:one@10.0.0.5>;expires=0', next)).contacts), ['sip:two@10.0.0.5'])
  t.same(apply(two, ask('*', { ...next, expires: '0' })).contacts, [])
  t.same(apply(two, ask('*', { callId: 'b', expires: '0' })).contacts, [])
  for (const wrong of [
    ask('*', next),
    ask('*', { ...next, expires: '60' }),
    ask('*, <sip:one@10.0.0.5>', { ...next, expires: '0' }),
  ]) {
    const { last, contacts } = apply(two, wrong)
    t.match(last, { kind: 'refused', status: 400 })
    t.equal(contacts.length, 2)
  }
})

t.test('a query changes nothing; what has expired is gone', async (t) => {
  const { contacts } = apply(ask('<sip:pbx@10.0.0.5>;expires=60'))
  t.match(register(contacts, ask(null), NOW + 59_999), { contacts: [{ uri: 'sip:pbx@10.0.0.5' }] })
  t.same(register(contacts, ask(null), NOW + 60_000), { kind: 'accepted', contacts: [] })
  t.same(liveContacts(contacts, NOW + 60_000), [])
})

t.test('the number of contacts is bounded: the oldest makes room', async (t) => {
  const many = Array.from({ length: MAX_CONTACTS + 2 }, (_, at) =>
    ask(`<sip:pbx@10.0.0.${at}>`, { callId: `restart ${at}` }),
  )
  const { contacts } = apply(...many)
  t.same(
    uris(contacts),
    ['6', '5', '4', '3', '2'].map((last) => `sip:pbx@10.0.0.${last}`),
  )
  const list = Array.from({ length: MAX_CONTACTS + 1 }, (_, at) => `<sip:pbx@10.0.0.${at}>`).join(', ')
  t.match(apply(ask(list)).last, { kind: 'refused', status: 400 })
})

t.test('what cannot be called is refused', async (t) => {
  for (const wrong of [
    '',
    '<tel:+911171366900>',
    '<sip:pbx@10.0.0.5',
    '<sip:pbx@>',
    `<sip:${'p'.repeat(300)}@10.0.0.5>`,
    '<sip:pb\u00fc@10.0.0.5>',
    '<sips:pbx@10.0.0.5>',
  ])
    t.match(apply(ask(wrong)).last, { kind: 'refused', status: 400 }, wrong)
  t.equal(apply(ask('<sips:pbx@10.0.0.5>', { flow: { ...flow, transport: 'tls' } })).last.kind, 'accepted')
  t.match(apply(ask(null, { cseq: 'REGISTER' })).last, { kind: 'refused', status: 400 })
})

t.test('a call names the number at the contact, and goes to where the REGISTER came from', async (t) => {
  const [contact] = apply(ask('<sip:s@10.0.0.5:5080;transport=tcp;line=x1?subject=hi>')).contacts
  if (contact === undefined) throw new Error('no contact')
  t.equal(calledContact(contact, '+911171366900'), 'sip:+911171366900@10.0.0.5:5080;transport=tcp;line=x1')
  t.equal(contactItself(contact), 'sip:s@10.0.0.5:5080;transport=tcp;line=x1')
  t.match(parseTarget(flowRoute(contact.flow)), {
    host: '198.51.100.7',
    port: 40_123,
    protocol: 'udp',
    flow: '203.0.113.10:5060',
  })
  const six = { transport: 'tls', address: '2001:db8::7', port: 40_123, local: '2001:db8::1:5061' } as const
  t.match(parseTarget(flowRoute(six)), { host: '2001:db8::7', protocol: 'tls', flow: '2001:db8::1:5061' })
})
