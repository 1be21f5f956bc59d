import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { businessLine } from '../../agent/llm/business-line.js'
import type { ChatMessage, GenerateRequest, ToolCall, ToolDeclaration } from '../../agent/vendor-ports.js'
import { replyTo, rulesLanguageModel } from './llm.js'

const PROMPT: ChatMessage = {
  role: 'system',
  content: 'You are Asha, the receptionist of Sunrise Dental Clinic. Be polite.',
}
const END: ToolDeclaration = { name: 'end_call', description: 'Ends.', parameters: {} }

function ask(...talk: readonly string[]): GenerateRequest {
  // Alternating, the last one the caller's.
  const messages = talk.map(
    (content, i): ChatMessage => ({
      role: (talk.length - i) % 2 === 1 ? 'user' : 'assistant',
      content,
    }),
  )
  return { model: 'parley-rules-1', messages: [PROMPT, ...messages], tools: [END] }
}

const said = (...talk: readonly string[]): string => replyTo(ask(...talk)).text
const ends = (...talk: readonly string[]): boolean =>
  replyTo(ask(...talk)).calls.some(({ name }) => name === 'end_call')

t.test('requests of a caller are understood', async (t) => {
  t.match(said('Who is calling please?'), /Asha from Sunrise Dental Clinic/)
  t.match(said('Hello?'), /Hello, this is Asha/)
  t.match(said('How much does it cost?'), /five hundred rupees/)
  t.match(said('Wait, one moment please.'), /take your time/)
  t.match(said('Sorry, can I ask something?'), /go ahead/)
  t.match(said('I want to talk to a real person.'), /person/)
  t.match(said('Please say your name and why you are calling.'), /This is Asha from Sunrise/)
  t.match(said('12 34'), /heard 1 2 3 4/)
  t.match(said('Blorb.'), /did not catch/)
  t.match(said('Blorb.', 'I am sorry, I did not catch that.', 'Blorb blorb.'), /still did not understand/)
})

t.test('long answers have several sentences to interrupt', async (t) => {
  for (const text of [
    said('Okay, please tell me more.'),
    said('How much does it cost?'),
    said('दाम कितना है?'),
  ]) {
    t.ok((text.match(/[.?!।]/gu) ?? []).length >= 4, text)
  }
})

t.test('a conversation progresses', async (t) => {
  const opening = 'Hello, am I speaking with Mr Rao?'
  t.match(said(opening, 'Yes, speaking.'), /next visit/)
  t.match(said('x', 'Is there anything else that I can do for you?', 'No.'), /pleasant day/)
  t.ok(ends('x', 'Is there anything else that I can do for you?', 'No, thank you.'))
})

t.test('the call is ended only when it is over', async (t) => {
  t.ok(ends('Okay, thank you. Goodbye.'))
  t.ok(ends('Please do not call me again.'))
  t.ok(ends('You have reached my voicemail. Please leave a message after the tone.'))
  t.notOk(ends('Hello?'))
  t.notOk(ends('Stop, I understand.'))
  t.notOk(ends('Thank you.'))
  const without = replyTo({ ...ask('Goodbye.'), tools: [] })
  t.match(without, { text: /Goodbye/, calls: [] }, 'without the tool it only says so')
})

t.test('Hindi is answered in Hindi', async (t) => {
  for (const [heard, expected] of [
    ['नमस्ते, कौन बोल रहे हैं?', /बोल रही हूँ/u],
    ['दाम कितना है?', /रुपये/u],
    ['मुझे अपॉइंटमेंट चाहिए', /समय तय नहीं कर सकती/u],
    ['रुकिए', /आराम से/u],
    ['मुझे दोबारा कॉल मत करना', /दर्ज नहीं कर सकती/u],
    ['किसी इंसान से बात करनी है', /साथी/u],
    ['धन्यवाद', /स्वागत/u],
    ['१२३', /1 2 3/],
    ['ब्लब', /सुन नहीं पाई/u],
  ] as const) {
    t.match(said(heard), expected, heard)
  }
  t.ok(ends('मुझे दोबारा कॉल मत करना'))
})

t.test('after an interruption the reply is short', async (t) => {
  const whole = said('x', 'It costs five', 'Okay, please tell me more.')
  const cut = said('x', 'It costs five [interrupted by the caller]', 'Okay, please tell me more.')
  t.match(cut, /^Sure\. Gladly\./)
  t.ok(cut.length < whole.length)
  t.match(said('x', 'It costs [interrupted by the caller]', 'Wait, one moment.'), /^Of course/)
  const request = ask('Hello?')
  const about: ChatMessage = { role: 'system', content: 'A note says that you were interrupted.' }
  t.equal(
    replyTo({ ...request, messages: [about, ...request.messages.slice(1)] }).text.startsWith('Sure'),
    false,
  )
})

t.test('without a tool nothing is promised', async (t) => {
  for (const [heard, expected] of [
    ['Can I book an appointment for tomorrow morning?', /cannot book/],
    ['Tomorrow at ten, please.', /cannot book/],
    ['I want to talk to a real person.', /cannot connect/],
    ['Please do not call me again.', /cannot record/],
  ] as const) {
    t.match(said(heard), expected, heard)
  }
  t.match(said('x', 'Shall I book a visit for you?', 'That sounds good to me.'), /cannot book/)
  for (const heard of [
    'Hello?',
    'Yes.',
    'How much does it cost?',
    'Tell me more.',
    'दाम कितना है?',
    'और बताइए',
    'You have reached my voicemail.',
  ]) {
    t.notMatch(said(heard), /\bbook|call again|बुक|फिर फ़ोन/iu, heard)
  }
})

t.test('an agent calls the tools that it has', async (t) => {
  const tool = (name: string, parameters = {}): ToolDeclaration => ({ name, description: '', parameters })
  const tools = [
    tool('book_slot'),
    tool('transfer_call', { type: 'object', properties: { reason: { type: 'string' } } }),
    tool('opt_out'),
    tool('get_price'),
    tool('order_status'),
    tool('send_dtmf'),
    END,
  ]
  const called = (...talk: readonly string[]) =>
    replyTo({ ...ask(...talk), tools }).calls.map(({ name }) => name)
  t.same(called('Can I book an appointment?'), ['book_slot'])
  t.same(called('Tomorrow at ten.'), ['book_slot'])
  t.same(called('x', 'Shall I book a visit for you?', 'Yes, please.'), ['book_slot'])
  t.same(called('I want to talk to a real person.'), ['transfer_call'])
  const destination = { type: 'string', enum: ['front_desk', 'billing'] }
  const arguments_ = (heard: string, required: readonly string[]) =>
    replyTo({
      ...ask(heard),
      tools: [tool('transfer_call', { type: 'object', properties: { destination }, required })],
    }).calls[0]?.arguments
  t.same(arguments_('I want to talk to a real person.', []), {}, 'nothing that the caller did not name')
  t.same(arguments_('I want to talk to a real person.', ['destination']), { destination: 'front_desk' })
  t.same(arguments_('Connect me to a real person of Billing.', []), { destination: 'billing' })
  t.same(called('Please do not call me again.'), ['opt_out'], 'the call ends after the result')
  t.same(called('How much does it cost?'), ['get_price'])
  t.same(called('Where does my order stay?'), ['order_status'], 'a word of the name')
  t.same(called('Please send it.'), [])
  t.same(called('Goodbye.'), ['end_call'])
  t.match(replyTo({ ...ask('Tell me more.'), tools }).text, /Shall I book a visit/)

  const after = (name: string, content: string, language = '') => {
    const request = ask('Hello?')
    return replyTo({
      ...request,
      tools,
      messages: [
        { role: 'system', content: `${PROMPT.content} ${language}` },
        ...request.messages.slice(1),
        { role: 'assistant', content: null, toolCalls: [{ id: 'c', name, arguments: {} }] },
        { role: 'tool', toolCallId: 'c', content },
      ],
    })
  }
  for (const failure of [
    'Failed: the other system answered 500. stack trace',
    'Failed (outside_hours): nobody is available at this hour. The caller is still with you.',
    'There is no tool named x.',
    'The parameter day is missing.',
    'No result yet: the caller spoke while this was still running. Do not call it again.',
  ]) {
    t.match(after('book_slot', failure), { text: /^I am sorry, that did not work/, calls: [] }, failure)
  }
  t.match(after('book_slot', 'Failed: x', 'Languages of this call: hi-IN.').text, /^माफ़ कीजिए, यह नहीं/u)
  t.match(after('opt_out', 'Recorded: this number is not called any more. Confirm that to the caller.'), {
    text: /Sunrise Dental Clinic will not call this number again/,
    calls: [{ name: 'end_call' }],
  })
  t.match(after('opt_out', 'Failed: opt-outs cannot be recorded in this release.'), {
    text: /could not record/,
    calls: [{ name: 'end_call' }],
  })
  t.same(after('transfer_call', 'The call is being handed over. Say one short sentence.').text, '')
})

t.test('the languages of the call decide, then the script of the words', async (t) => {
  const reply = (heard: string, languages: string) => {
    const request = ask(heard)
    const prompt: ChatMessage = { role: 'system', content: `You are Asha.\n\nSpoken. ${languages}` }
    return replyTo({ ...request, messages: [prompt, ...request.messages.slice(1)] }).text
  }
  t.match(reply('Hello?', 'Languages of this call: hi-IN.'), /नमस्ते/u, 'a Hindi agent answers in Hindi')
  t.match(reply('नमस्ते', 'Languages of this call: en-IN.'), /Hello/)
  t.match(reply('Hello?', 'Languages of this call: en-IN, hi-IN.'), /Hello/)
  t.match(reply('नमस्ते', 'Languages of this call: en-IN, hi-IN.'), /नमस्ते/u)
  const now = 'Languages of this call: en-IN, hi-IN. The caller speaks Hindi now: answer in Hindi.'
  t.match(reply('Hello?', now), /नमस्ते/u)
})

t.test('the business name of the settings wins over names in the prompt', async (t) => {
  const request = ask('Who is this?')
  const content = `You are Asha. You work from Mumbai.${businessLine('smile dental, Pune')}\n\nYou are on a call.`
  const text = replyTo({
    ...request,
    messages: [{ role: 'system', content }, ...request.messages.slice(1)],
  }).text
  t.match(text, /Asha from smile dental, Pune\./)
  t.equal(businessLine('  '), '')
})

t.test('the answer of a tool is read out, data is not', async (t) => {
  const tool: ToolDeclaration = {
    name: 'check_availability',
    description: 'Free places.',
    parameters: { type: 'object', properties: { day: { type: 'string' }, count: { type: 'integer' } } },
  }
  const request = { ...ask('Book me for 3 people.'), tools: [tool, END] }
  const { calls } = replyTo(request)
  t.match(calls, [{ name: 'check_availability', arguments: { day: 'Book me for 3 people.', count: 3 } }])
  const after = (content: string, called: readonly ToolCall[] = calls): string =>
    replyTo({
      ...request,
      messages: [
        ...request.messages,
        { role: 'assistant', content: null, toolCalls: called },
        { role: 'tool', toolCallId: called[0]?.id ?? '', content },
      ],
    }).text
  t.equal(after('Ten and eleven are free'), 'Ten and eleven are free.')
  t.match(after('{"free":[10]}'), /^Our system has answered/)
  t.match(after('Done (204).'), /^Our system has answered/)
  t.equal(after('done', [{ id: 'e', name: 'end_call', arguments: {} }]), '')
})

t.test('equal messages give equal replies; names come from the prompt', async (t) => {
  const request = ask('Hello?', 'Hello, this is Asha.', 'Who is this?')
  t.same(replyTo(request), replyTo(structuredClone(request)))
  const nameless = { ...request, messages: [{ role: 'user', content: 'Who is this?' }] as const }
  t.match(replyTo(nameless).text, /the assistant from our office/)
  const other = {
    role: 'system',
    content: 'Your name is Ravi. You work for Lotus & Sons Bakery, of course.',
  } as const
  t.match(
    replyTo({ ...nameless, messages: [other, ...nameless.messages] }).text,
    /Ravi from Lotus & Sons Bakery\./,
  )
})

t.test('words stream after generate returned; cancelling stops them', async (t) => {
  const words: string[] = []
  let done = 0
  const events = {
    text: (delta: string) => words.push(delta),
    toolCalls: () => {},
    done: () => done++,
    failed: () => t.fail('it cannot fail'),
  }
  rulesLanguageModel().generate(ask('Hello?'), events)
  t.same(words, [])
  await Promise.resolve()
  t.equal(words.join(''), said('Hello?'))
  t.ok(words.length > 5)
  t.equal(done, 1)
  words.length = 0
  rulesLanguageModel().generate(ask('Hello?'), events).cancel()
  await Promise.resolve()
  t.same(words, [])
})

t.test('with timing it waits like a provider', async (t) => {
  const clock = new VirtualClock()
  const words: string[] = []
  let usage: unknown = null
  const model = rulesLanguageModel({ clock, firstTokenMs: 300, tokenMs: 20 })
  const run = () =>
    model.generate(ask('Hello?'), {
      text: (delta) => words.push(delta),
      toolCalls: () => {},
      done: (figures) => {
        usage = figures
      },
      failed: () => t.fail('it cannot fail'),
    })
  run()
  clock.advance(299)
  t.equal(words.length, 0)
  clock.advance(1)
  t.equal(words.length, 1)
  clock.advance(20)
  t.equal(words.length, 2)
  clock.advance(10_000)
  t.equal(words.join(''), said('Hello?'))
  t.match(usage, { completionTokens: words.length })
  const handle = run()
  clock.advance(320)
  handle.cancel()
  t.equal(clock.pending, 0)
})
