import t from 'tap'
import { declaredArguments } from '../../media/agent/tools/tool-arguments.js'
import { toolDeclarations } from '../../media/agent/tools/tool-calls.js'
import { type ConfigPatch, defaultConfig } from './config.js'
import { mergeConfig } from './merge.js'
import {
  fillPlaceholders,
  fillSpoken,
  findMalformed,
  findUndeclared,
  resolveVariables,
} from './placeholders.js'
import { buildAgentSpec, type SpecInput } from './spec.js'

const config = mergeConfig(defaultConfig, {
  systemPrompt: 'You work for {{clinic}}. Now it is {{currentDay}} {{currentDate}} {{ currentTime }}.',
  inputVariables: [
    { name: 'clinic', description: '', required: true, default: null },
    { name: 'title', description: '', required: false, default: 'Dr' },
  ],
  tools: [
    {
      name: 'bye',
      description: 'Ends',
      parameters: [],
      connectionId: null,
      preset: 'end_call',
      speech: {},
      mock: null,
      http: null,
    },
    {
      name: 'slots',
      description: 'Free slots of {{clinic}}',
      parameters: [{ name: 'day', description: '', required: true, type: 'string' }],
      connectionId: null,
      preset: null,
      speech: {},
      mock: { enabled: true, response: 'ten at {{clinic}}' },
      http: null,
    },
  ],
  callSettings: {
    openingLine: { text: 'Hello {{callerNumber}}, {{title}} here.' },
    inboundOpeningLine: { text: '{{clinic}}, hello.' },
    hangupLine: { text: ' {{nothing}} ' },
  },
})

const input: SpecInput = {
  agentId: 'agt_1',
  agentVersionId: 'agv_1',
  name: 'Asha',
  config,
  direction: 'outbound',
  from: '+919000000100',
  to: '+919876543210',
  variables: { clinic: 'Smile', title: 'Dr' },
  now: Date.parse('2026-03-01T18:45:00Z'),
}
const none = { openai: null }

t.test('a version becomes a spec with its placeholders filled', async (t) => {
  const spec = buildAgentSpec(input, none)
  t.match(spec, {
    systemPrompt: 'You work for Smile. Now it is Monday 2026-03-02 00:15.',
    openingLine: 'Hello +919876543210, Dr here.',
    hangupLine: null,
    speechToText: { vendor: 'embedded', model: 'parley-sandbox' },
    textToSpeech: { vendor: 'embedded', model: 'espeak-ng', voice: 'asha', pace: 1 },
    languageModel: { vendor: 'embedded', model: 'parley-rules-1' },
    tools: [
      { name: 'bye', action: { kind: 'end_call' } },
      {
        name: 'slots',
        description: 'Free slots of Smile',
        action: { kind: 'mock', response: 'ten at Smile' },
      },
    ],
    nudges: { enabled: true, steps: [{ afterSeconds: 10 }, { afterSeconds: 20 }] },
    maxCallSeconds: 600,
  })
  t.match(spec, {
    speechToText: { language: 'en-IN', mode: 'transcribe' },
    background: { sound: 'none', volume: 0 },
    voicemail: { enabled: true, windowSeconds: 8, message: null },
    transfer: { handoff: 'cold', dtmfKey: null, preTransferLine: null, ringTimeoutSeconds: 25 },
  })
  const inbound = buildAgentSpec({ ...input, direction: 'inbound', from: '+911111111111' }, none)
  t.equal(inbound?.openingLine, 'Smile, hello.')
})

t.test('who can be put on the do-not-call list can opt out', async (t) => {
  const optOut = (change: Partial<SpecInput>) => buildAgentSpec({ ...input, ...change }, none)?.optOut
  const key = mergeConfig(config, { callSettings: { optOut: { dtmfKey: '9' } } })
  t.same(optOut({ config: key }), { phrases: true, dtmfKey: '9' })
  t.equal(optOut({ to: '+14155550123' }), null)
  t.same(optOut({ direction: 'inbound', from: '+919876543210', to: '+14155550123' }), {
    phrases: true,
    dtmfKey: null,
  })
  t.equal(optOut({ direction: 'inbound', from: 'anonymous' }), null)
})

t.test('the prompt names the business', async (t) => {
  const callSettings = { ...config.callSettings, businessName: 'Smile Dental' }
  const spec = buildAgentSpec({ ...input, config: { ...config, callSettings } }, none)
  t.match(spec?.systemPrompt, /00:15\.\n\nYou speak for Smile Dental\.$/)
})

t.test('without an opening line the agent begins an outbound call in its language', async (t) => {
  const opening = (direction: 'inbound' | 'outbound', businessName: string, language = 'en-IN') => {
    const patch = {
      voice: { languages: [language as 'en-IN'], sttLanguage: language as 'en-IN' },
      callSettings: { businessName, openingLine: null, inboundOpeningLine: null },
    }
    return buildAgentSpec({ ...input, direction, config: mergeConfig(config, patch) }, none)?.openingLine
  }
  t.equal(opening('outbound', 'Smile $& Co'), 'Hello, this is Smile $& Co.')
  t.equal(opening('outbound', ''), 'Hello.')
  t.equal(opening('outbound', '', 'hi-IN'), 'नमस्ते।')
  t.equal(opening('inbound', 'Smile'), null, 'a caller speaks first')
})

t.test('the notice of a recording comes first, and only where it is to be given', async (t) => {
  const opening = (givesNotice: boolean, direction: 'inbound' | 'outbound', line: string | null) => {
    const callSettings = {
      recordingNotice: { text: 'This call is recorded by {{clinic}}.' },
      openingLine: line === null ? null : { text: line },
      inboundOpeningLine: null,
    }
    const patched = mergeConfig(config, { callSettings })
    return buildAgentSpec({ ...input, givesNotice, direction, config: patched }, none)?.openingLine
  }
  t.equal(opening(true, 'outbound', 'Hello.'), 'This call is recorded by Smile. Hello.')
  t.equal(opening(true, 'inbound', null), 'This call is recorded by Smile.')
  t.equal(opening(false, 'outbound', 'Hello.'), 'Hello.')
  t.equal(opening(false, 'inbound', null), null)
})

t.test('a sentence without its value is not spoken', async (t) => {
  const values = { name: 'Asha', empty: ' ' }
  const text = 'Hello, Dr. {{name}} speaking. I am from {{clinic}}. Do you have {{empty}} time? Thank you!'
  t.equal(fillSpoken(text, values), 'Hello, Dr. Asha speaking. Thank you!')
  t.equal(fillSpoken(' {{name}}\n is here ', values), 'Asha\n is here')
  t.equal(fillSpoken('Hello, this is {{clinic}}.', values), '')

  const nudges = { steps: [{ afterSeconds: 5, line: { text: 'Is {{clinic}} right?' } }] }
  const without = { ...input, config: mergeConfig(config, { callSettings: { nudges } }), variables: {} }
  const spec = buildAgentSpec({ ...without, direction: 'inbound' }, none)
  t.equal(spec?.openingLine, 'Hello.', 'a line of which nothing is left')
  t.equal(spec?.nudges.steps[0]?.text, 'Are you still there?')
})

t.test('double braces that are no placeholder are found', async (t) => {
  for (const text of ['{{a b}}', '{{}}', 'at {{clinic', '{{ x-y }}', '{{{{clinic}}}}']) {
    t.equal(findMalformed({ ...config, systemPrompt: text }), 'systemPrompt', text)
  }
  for (const text of ['{{clinic}}', '{{ clinic }}', '{"a":{"b":1}}', 'a } b { c', '{{{clinic}}}']) {
    t.equal(findMalformed({ ...config, systemPrompt: text }), null, text)
  }
  const callSettings = { ...config.callSettings, openingLine: { text: 'Hello from {{clinic' } }
  t.equal(findMalformed({ ...config, callSettings }), 'callSettings.openingLine.text')
})

t.test('the default nudges announce nothing that does not follow', async (t) => {
  const { steps, hangupAfter } = defaultConfig.callSettings.nudges
  t.equal(hangupAfter, true)
  t.notMatch(steps.at(-1)?.line.text, /\bnow\b/)
})

t.test('a voice that left the catalogue gives no spec', async (t) => {
  const voice = { ...config.voice, ttsVoice: 'gone' }
  t.equal(buildAgentSpec({ ...input, config: { ...config, voice } }, none), null)
  t.equal(buildAgentSpec({ ...input, config: { ...config, llmModel: 'gone' } }, none), null)
})

t.test('values: given, default, missing', async (t) => {
  t.same(resolveVariables(config, { clinic: 'A', extra: 'x' }), {
    values: { clinic: 'A', title: 'Dr' },
    missing: [],
  })
  t.same(resolveVariables(config, {}), { values: { title: 'Dr' }, missing: ['clinic'] })
  t.same(resolveVariables(config, { clinic: '' }).missing, [], 'an empty value is a value')
  // A property that every object inherits is not a value.
  const odd = mergeConfig(defaultConfig, {
    inputVariables: [{ name: 'constructor', description: '', required: true, default: null }],
  })
  t.same(resolveVariables(odd, {}).missing, ['constructor'])
  t.equal(
    fillPlaceholders('{{constructor}}{{a}}{{{{b}}}}', { a: '{{b}}', b: 'B' }),
    '{{b}}{{B}}',
    'filled once, not again',
  )
})

t.test('undeclared placeholders', async (t) => {
  t.same(findUndeclared(config), { path: 'callSettings.hangupLine.text', names: ['nothing'] })
  t.equal(findUndeclared(mergeConfig(config, { callSettings: { hangupLine: null } })), null)
})

t.test('tools with HTTP requests, and their filler phrases', async (t) => {
  const bare = { description: 'x', parameters: [], connectionId: null, preset: null, mock: null, http: null }
  const http = {
    method: 'GET',
    url: 'https://example.com/{{clinic}}',
    timeoutMs: 2_000,
    headers: {},
    bodyFormat: 'json',
    bodyRoot: null,
    auth: null,
  } as const
  const tools = mergeConfig(config, {
    callSettings: { transfer: { preTransferLine: { text: 'To {{clinic}}.' }, dtmfKey: '0' } },
    tools: [
      { ...bare, name: 'fetch', speech: { 'en-IN': 'Asking {{clinic}}.' }, http, connectionId: 'cxn_1' },
      { ...bare, name: 'person', speech: {}, preset: 'transfer_call' },
      { ...bare, name: 'mocked', speech: {}, http, mock: { enabled: true, response: 'ok' } },
    ],
  })
  const spec = buildAgentSpec({ ...input, config: tools }, none)
  t.match(spec?.tools, [
    {
      name: 'fetch',
      speech: { 'en-IN': 'Asking Smile.' },
      // Text from callers or customer data never becomes part of a URL.
      action: { kind: 'http', request: { url: 'https://example.com/{{clinic}}', connectionId: 'cxn_1' } },
    },
    { name: 'person', action: { kind: 'transfer_call' } },
    { name: 'mocked', action: { kind: 'mock', response: 'ok' } },
  ])
  t.match(spec?.transfer, { preTransferLine: 'To Smile.', dtmfKey: '0' })
})

t.test('the model learns where it may transfer', async (t) => {
  const bare = { description: 'x', parameters: [], connectionId: null, speech: {}, mock: null, http: null }
  const destinations = [
    { id: 'tdst_1', key: 'billing', label: 'Accounts' },
    { id: 'tdst_2', key: 'owner', label: 'Dr Rao' },
    { id: 'tdst_3', key: 'stranger', label: 'Of no concern' },
  ]
  const offered = [{ destinationId: 'tdst_1', when: 'questions about bills' }, { destinationId: 'tdst_2' }]
  const toolsOf = (tools: object[], transfer: object = { destinations: offered }) =>
    buildAgentSpec(
      {
        ...input,
        destinations,
        config: mergeConfig(defaultConfig, { tools, callSettings: { transfer } } as ConfigPatch),
      },
      none,
    )?.tools ?? []

  const [implicit, ...others] = toolsOf([])
  t.same(others, [])
  t.match(implicit, { name: 'transfer_call', action: { kind: 'transfer_call' } })
  t.match(implicit?.description, /\n\* billing \(Accounts\): questions about bills\n\* owner \(Dr Rao\)$/)
  t.notMatch(implicit?.description, 'stranger')
  t.match(toolDeclarations(implicit === undefined ? [] : [implicit])[0]?.parameters, {
    properties: { destination: { enum: ['billing', 'owner'] }, reason: {}, note: {} },
    required: ['destination'],
  })
  const withDefault = toolsOf([], { destinations: offered, defaultDestinationId: 'tdst_2' })[0]
  t.match(withDefault?.parameters[0], { required: false, description: /Default: owner/ })
  const declared = declaredArguments(withDefault?.parameters ?? [], { destination: '', reason: 'A bill.' })
  t.same(declared, { reason: 'A bill.' }, 'a blank destination is the default')

  const own = { ...bare, name: 'person', preset: 'transfer_call', description: 'My words.' }
  t.match(toolsOf([own]), [
    {
      name: 'person',
      description: /^My words\.\n\nDestinations:\n\* billing/,
      parameters: [{ name: 'destination', values: ['billing', 'owner'] }],
    },
  ])
  const parameter = { name: 'destinationId', description: 'Who', type: 'string', required: true }
  t.match(
    toolsOf([{ ...own, parameters: [parameter] }])[0]?.parameters,
    [parameter],
    'as the author wrote it',
  )
  const mocked = { ...own, mock: { enabled: true, response: 'ok' } }
  t.match(
    toolsOf([mocked]),
    [{ description: 'My words.', action: { kind: 'mock' } }],
    'the author tries it out',
  )
  t.equal(toolsOf([mocked]).length, 1)
  const named = { ...bare, name: 'transfer_call', preset: 'end_call' }
  t.same(
    toolsOf([named]).map(({ action }) => action.kind),
    ['end_call'],
    'the name is taken',
  )
  t.same(toolsOf([], {}), [])
  t.same(toolsOf([], { destinations: [{ destinationId: 'tdst_gone' }] }), [])
})
