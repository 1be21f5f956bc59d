import { z } from 'zod'
import {
  EMBEDDED_LANGUAGE_MODEL,
  EMBEDDED_RECOGNITION_MODEL,
  EMBEDDED_SPEECH_MODEL,
  EMBEDDED_VOICE,
} from '../../media/vendors/catalogue.js'
import { VOICE_LANGUAGES } from '../../media/vendors/espeak/voices.js'
import { HEADER_NAME } from '../tools/credential-names.js'

/*
 * The configuration of an agent: every field with its limits and its default. The full schema describes what
 * is stored and shown. The patch schema is the same with every field optional.
 */

const VARIABLE_NAME = /^[a-zA-Z_][a-zA-Z0-9_]{0,49}$/
const TOOL_NAME = /^[a-z][a-z0-9_]{0,63}$/

const text = (max: number) => z.string().max(max)
const named = (max: number) => z.string().min(1).max(max)
const Line = z.strictObject({ text: named(1_000) })

/** The eleven languages. `or-IN` is accepted as an alias of `od-IN` (see `normalise`). */
export const Language = z.enum([...VOICE_LANGUAGES, 'or-IN'])

const InputVariable = z.strictObject({
  name: z.string().regex(VARIABLE_NAME),
  description: text(500).default(''),
  required: z.boolean().default(false),
  default: text(1_000).nullable().default(null),
})

const OutputVariable = z.strictObject({
  name: z.string().regex(VARIABLE_NAME),
  description: text(500).default(''),
  type: z.enum(['string', 'number', 'boolean', 'enum', 'date']),
  enumValues: z.array(named(200)).max(50).default([]),
})

const Criterion = z.strictObject({ id: named(64), name: named(80), prompt: named(4_000) })

const ToolParameter = z.strictObject({
  name: z.string().regex(VARIABLE_NAME),
  description: text(500).default(''),
  required: z.boolean().default(false),
  type: z.enum(['string', 'number', 'integer', 'boolean']),
})

const ToolAuth = z.strictObject({
  type: z.enum(['none', 'bearer', 'basic', 'api_key']),
  in: z.enum(['header', 'query']).nullable().default(null),
  name: text(100).nullable().default(null),
  header: text(100).nullable().default(null),
  secretId: text(64).nullable().default(null),
  secondary: z
    .strictObject({ in: z.enum(['header', 'query']), name: named(100), secretId: named(64) })
    .nullable()
    .default(null),
})

// RFC 9110 5.1 and 5.5: a token as the name, and a value without line breaks.
const HeaderName = z.string().max(100).regex(HEADER_NAME)
const HeaderValue = z
  .string()
  .max(1_000)
  .regex(/^[^\r\n\0]*$/)

// The address check of the API refuses URLs that are valid here but badly written.
const ToolUrl = z
  .string()
  .max(2_048)
  .refine(
    (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
    'must be an http or https URL',
  )
  .meta({ format: 'uri' })

const ToolHttp = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  url: ToolUrl,
  timeoutMs: z.int().min(1_000).max(20_000).default(8_000),
  headers: z
    .record(HeaderName, HeaderValue)
    .refine((headers) => Object.keys(headers).length <= 50, 'has more than 50 headers')
    .meta({ maxProperties: 50 })
    .default({}),
  bodyFormat: z.enum(['json', 'form']).default('json'),
  bodyRoot: text(100).nullable().default(null),
  auth: ToolAuth.nullable().default(null),
})

const Tool = z.strictObject({
  name: z.string().regex(TOOL_NAME),
  description: named(1_000),
  parameters: z.array(ToolParameter).max(20).default([]),
  connectionId: text(64).nullable().default(null),
  preset: z
    .enum(['end_call', 'transfer_call', 'send_dtmf', 'opt_out', 'schedule_callback'])
    .nullable()
    .default(null),
  speech: z
    .partialRecord(Language, text(500))
    .default({})
    .meta({ maxProperties: VOICE_LANGUAGES.length + 1 }),
  mock: z
    .strictObject({ enabled: z.boolean(), response: text(10_000).default('') })
    .nullable()
    .default(null),
  http: ToolHttp.nullable().default(null),
})

const Voice = z.strictObject({
  languages: z.array(Language).min(1).max(VOICE_LANGUAGES.length).default(['en-IN']),
  sttLanguage: Language.default('en-IN'),
  sttMode: z.enum(['transcribe', 'translate', 'codemix']).default('transcribe'),
  sttModel: named(100).default(EMBEDDED_RECOGNITION_MODEL),
  ttsModel: named(100).default(EMBEDDED_SPEECH_MODEL),
  ttsVoice: named(100).default(EMBEDDED_VOICE),
})

const TtsOptions = z.strictObject({ pace: z.number().min(0.25).max(4).default(1) })

const Background = z.strictObject({
  sound: z.enum(['none', 'office', 'cafe', 'call_center']).default('none'),
  volume: z.number().min(0).max(1).default(0),
})

const NudgeStep = z.strictObject({
  afterSeconds: z
    .int()
    .min(1)
    .max(300)
    .meta({
      description:
        'Seconds of silence until the step, added up over the steps: with 10 and 20 the second step follows 10 ' +
        'seconds after the first. A value not greater than the one before counts from the step before.',
    }),
  line: Line,
})

const Nudges = z.strictObject({
  enabled: z.boolean().default(true),
  hangupAfter: z.boolean().default(true).meta({
    description: 'Ends the call when the caller stays silent after the last step, as long as before it.',
  }),
  steps: z
    .array(NudgeStep)
    .max(10)
    .default([
      { afterSeconds: 10, line: { text: 'Are you still there?' } },
      {
        afterSeconds: 20,
        line: { text: 'I still cannot hear you. I will end the call if you do not answer.' },
      },
    ]),
})

const Voicemail = z.strictObject({
  enabled: z.boolean().default(true),
  windowSeconds: z.int().min(2).max(20).default(8),
  message: Line.nullable().default(null).meta({
    description: 'Left after the beep of a voicemail. Null: the call ends when a voicemail answers.',
  }),
})

const TransferTarget = z.strictObject({
  destinationId: named(64),
  fallbackDestinationId: named(64).nullable().default(null),
  when: text(1_000).default(''),
})

const Transfer = z.strictObject({
  handoff: z.enum(['cold', 'warm']).default('cold'),
  blindTransfers: z.boolean().default(false),
  defaultDestinationId: named(64).nullable().default(null),
  destinations: z.array(TransferTarget).max(20).default([]),
  dtmfKey: z
    .string()
    .regex(/^[0-9*#]$/)
    .nullable()
    .default(null),
  preTransferLine: Line.nullable().default(null),
  afterMissLine: Line.nullable().default(null),
  recordHumanSegment: z.boolean().default(false),
  requestPhrases: z.boolean().default(true),
  ringTimeoutSeconds: z.int().min(10).max(60).default(25),
})

/** How a person can opt out of calls, besides the agent's tool. */
const OptOut = z.strictObject({
  phrases: z.boolean().default(true),
  dtmfKey: z
    .string()
    .regex(/^[0-9*#]$/)
    .nullable()
    .default(null),
})

const Interruption = z.strictObject({
  minMs: z.int().min(0).max(2_000).nullable().default(null).meta({
    description:
      'Speech of this length (ms) interrupts the agent without words. Null: the value of the preset.',
  }),
  minWords: z.int().min(0).max(5).default(0).meta({
    description: 'Fewer words than this do not interrupt the agent, unless the caller goes on speaking.',
  }),
})

const TurnTaking = z.strictObject({
  preset: z.enum(['fast', 'balanced', 'patient']).default('balanced'),
  maxWaitMs: z.int().min(300).max(4_000).nullable().default(null).meta({
    description: 'Longest wait (ms) for more words of the caller. Null: the value of the preset.',
  }),
  interruption: Interruption.prefault({}),
  backchannels: z.boolean().default(false).meta({
    description: 'The agent says a short "hm" or "ji" while the caller speaks for long.',
  }),
})

const Opening = z.strictObject({
  protected: z.boolean().default(false).meta({
    description:
      'The opening line is spoken to its end. What the caller says meanwhile is answered after it.',
  }),
})

const CallSettings = z.strictObject({
  businessName: text(120).default(''),
  recordingNotice: Line.nullable().default(null).meta({
    description: 'Said before the opening line of a call that is recorded or may be monitored.',
  }),
  openingLine: Line.nullable().default(null),
  inboundOpeningLine: Line.nullable().default(null),
  hangupLine: Line.nullable().default(null),
  maxCallSeconds: z.int().min(30).max(3_600).default(600),
  background: Background.prefault({}),
  nudges: Nudges.prefault({}),
  voicemail: Voicemail.prefault({}),
  transfer: Transfer.prefault({}),
  optOut: OptOut.prefault({}),
  turnTaking: TurnTaking.prefault({}),
  opening: Opening.prefault({}),
  vocabulary: z.array(named(80)).max(100).default([]).meta({
    description: 'Names and terms that callers use. Vendors that take hints recognise them better.',
  }),
  noiseSuppression: z.boolean().default(false).meta({
    description:
      "Removes noise from the caller's audio before speech is detected. Recognition and recording get the audio as it came.",
  }),
})

export const MAX_KNOWLEDGE_BASES = 10

/** The flat configuration fields, as stored with a draft and with each version. */
export const AgentConfig = z.strictObject({
  systemPrompt: text(32_000).default(''),
  llmModel: named(100).default(EMBEDDED_LANGUAGE_MODEL),
  knowledgeBaseIds: z.array(named(64)).max(MAX_KNOWLEDGE_BASES).default([]),
  inputVariables: z.array(InputVariable).max(50).default([]),
  outputVariables: z.array(OutputVariable).max(30).default([]),
  evaluationCriteria: z.array(Criterion).max(20).default([]),
  ttsOptions: TtsOptions.prefault({}),
  voice: Voice.prefault({}),
  tools: z.array(Tool).max(32).default([]),
  callSettings: CallSettings.prefault({}),
})
export type AgentConfig = z.output<typeof AgentConfig>

/** A criterion in a request body may lack an id and then gets one. */
const CriterionInput = Criterion.partial({ id: true })

/**
 * The configuration in a request body: every field is optional at every level, without defaults. Objects are
 * merged into the stored configuration; arrays and string maps replace it.
 */
export const configPatchShape = {
  systemPrompt: AgentConfig.shape.systemPrompt.unwrap().optional(),
  llmModel: AgentConfig.shape.llmModel.unwrap().optional(),
  knowledgeBaseIds: AgentConfig.shape.knowledgeBaseIds.unwrap().optional(),
  inputVariables: AgentConfig.shape.inputVariables.unwrap().optional(),
  outputVariables: AgentConfig.shape.outputVariables.unwrap().optional(),
  evaluationCriteria: z.array(CriterionInput).max(20).optional(),
  ttsOptions: z.strictObject({ pace: TtsOptions.shape.pace.unwrap().optional() }).optional(),
  voice: z
    .strictObject({
      languages: Voice.shape.languages.unwrap().optional(),
      sttLanguage: Language.optional(),
      sttMode: Voice.shape.sttMode.unwrap().optional(),
      sttModel: Voice.shape.sttModel.unwrap().optional(),
      ttsModel: Voice.shape.ttsModel.unwrap().optional(),
      ttsVoice: Voice.shape.ttsVoice.unwrap().optional(),
    })
    .optional(),
  tools: AgentConfig.shape.tools.unwrap().optional(),
  callSettings: z
    .strictObject({
      businessName: CallSettings.shape.businessName.unwrap().optional(),
      recordingNotice: Line.nullable().optional(),
      openingLine: Line.nullable().optional(),
      inboundOpeningLine: Line.nullable().optional(),
      hangupLine: Line.nullable().optional(),
      maxCallSeconds: CallSettings.shape.maxCallSeconds.unwrap().optional(),
      background: z
        .strictObject({
          sound: Background.shape.sound.unwrap().optional(),
          volume: Background.shape.volume.unwrap().optional(),
        })
        .optional(),
      nudges: z
        .strictObject({
          enabled: z.boolean().optional(),
          hangupAfter: z.boolean().optional(),
          steps: Nudges.shape.steps.unwrap().optional(),
        })
        .optional(),
      voicemail: z
        .strictObject({
          enabled: z.boolean().optional(),
          windowSeconds: Voicemail.shape.windowSeconds.unwrap().optional(),
          message: Line.nullable().optional(),
        })
        .optional(),
      optOut: z
        .strictObject({
          phrases: z.boolean().optional(),
          dtmfKey: OptOut.shape.dtmfKey.unwrap().optional(),
        })
        .optional(),
      turnTaking: z
        .strictObject({
          preset: TurnTaking.shape.preset.unwrap().optional(),
          maxWaitMs: TurnTaking.shape.maxWaitMs.unwrap().optional(),
          interruption: z
            .strictObject({
              minMs: Interruption.shape.minMs.unwrap().optional(),
              minWords: Interruption.shape.minWords.unwrap().optional(),
            })
            .optional(),
          backchannels: z.boolean().optional(),
        })
        .optional(),
      opening: z.strictObject({ protected: z.boolean().optional() }).optional(),
      vocabulary: CallSettings.shape.vocabulary.unwrap().optional(),
      noiseSuppression: z.boolean().optional(),
      transfer: z
        .strictObject({
          handoff: Transfer.shape.handoff.unwrap().optional(),
          blindTransfers: z.boolean().optional(),
          defaultDestinationId: named(64).nullable().optional(),
          destinations: Transfer.shape.destinations.unwrap().optional(),
          dtmfKey: Transfer.shape.dtmfKey.unwrap().optional(),
          preTransferLine: Line.nullable().optional(),
          afterMissLine: Line.nullable().optional(),
          recordHumanSegment: z.boolean().optional(),
          requestPhrases: z.boolean().optional(),
          ringTimeoutSeconds: Transfer.shape.ringTimeoutSeconds.unwrap().optional(),
        })
        .optional(),
    })
    .optional(),
}

const ConfigPatch = z.strictObject(configPatchShape)
export type ConfigPatch = z.output<typeof ConfigPatch>

/** The configuration of a new agent before its body is applied. */
export const defaultConfig: AgentConfig = AgentConfig.parse({})

/** Parses a stored configuration. Fields that later releases added get their defaults. */
export function readConfig(json: string): AgentConfig {
  return AgentConfig.parse(JSON.parse(json))
}

/** Configurations of versions that are kept parsed. */
const MOST_KEPT = 32
const kept = new Map<string, AgentConfig>()

/**
 * Parses the configuration of a version like `readConfig`. The versions of the last calls are kept parsed, because each dial
 * of a campaign reads the same one. Nothing can change the returned value.
 */
export function readVersionConfig(json: string): AgentConfig {
  const config = kept.get(json) ?? deepFreeze(readConfig(json))
  kept.delete(json)
  kept.set(json, config)
  const [oldest] = kept.size > MOST_KEPT ? kept.keys() : []
  if (oldest !== undefined) kept.delete(oldest)
  return config
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
