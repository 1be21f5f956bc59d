import { Alert, Button, Group, NativeSelect, SimpleGrid, Text, Textarea } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import { useLanguageName } from '../../i18n.js'
import { useKey, useSession } from '../../session.js'
import { type Draft, tokensOf, undeclared, variablesIn } from './config.js'
import {
  ChoiceField,
  ChoicesField,
  Entries,
  LineField,
  NumberField,
  Section,
  SwitchField,
  TextField,
  useEditing,
  WordsField,
  withStored,
} from './fields.js'
import { Tools } from './Tools.js'

const SEPARATOR = ' · '
const KEYS = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '#'] as const

/** All settings of an agent, by what they are about. */
export function Sections() {
  return (
    <>
      <Basics />
      <Speech />
      <Beginning />
      <TurnTaking />
      <Silence />
      <Voicemail />
      <Refusal />
      <Transfer />
      <Tools />
      <Variables />
      <Results />
    </>
  )
}

function useOptions(
  name: string,
  read: () => Promise<readonly { readonly value: string; readonly label: string }[]>,
) {
  const key = useKey()
  const { data } = useQuery({ queryKey: key(name, 'options'), queryFn: read, staleTime: 60_000 })
  return data ?? []
}

function Basics() {
  const t = useTranslations('agentForm')
  const tAgent = useTranslations('agent')
  const { api } = useSession()
  const models = useOptions('models', async () =>
    (await api.listModels()).items.map(({ llmModel, label, available }) => ({
      value: llmModel,
      label: available ? label : tAgent('unavailable', { name: label }),
    })),
  )
  const bases = useOptions('knowledge', async () =>
    (await api.listKnowledgeBases({ query: { limit: 100 } })).items.map(({ id, name }) => ({
      value: id,
      label: name,
    })),
  )
  return (
    <Section
      title={t('basics')}
      paths={['name', 'description', 'systemPrompt', 'llmModel', 'knowledgeBaseIds']}
      opened
    >
      <TextField path="name" required maxLength={80} />
      <TextField path="description" optional />
      <Prompt />
      <ChoiceField path="llmModel" options={models} />
      <ChoicesField path="knowledgeBaseIds" options={bases} />
    </Section>
  )
}

/** The instructions. Variables are marked where they stand. */
function Prompt() {
  const t = useTranslations('agentForm')
  const { draft, disabled, set, errorAt } = useEditing()
  const error = errorAt('systemPrompt')
  const unknown = undeclared(draft)
  const { systemPrompt } = draft
  return (
    <>
      <Textarea
        label={t('systemPrompt')}
        description={t('systemPrompt_hint')}
        name="systemPrompt"
        autosize
        minRows={8}
        maxLength={32_000}
        disabled={disabled}
        {...(error === undefined ? {} : { error })}
        value={systemPrompt}
        onChange={({ currentTarget }) => set('systemPrompt', currentTarget.value)}
        inputContainer={(input) => (
          <div className="marked">
            <pre aria-hidden="true">
              {variablesIn(systemPrompt, draft).map(({ text, name, known }, index) =>
                name === null ? (
                  text
                ) : (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a variable may stand in a text twice
                  <mark key={index} className={known ? '' : 'unknown'}>
                    {text}
                  </mark>
                ),
              )}
            </pre>
            {input}
          </div>
        )}
      />
      <Text size="xs">{t('tokens', { count: tokensOf(systemPrompt) })}</Text>
      {unknown.length > 0 && (
        <Alert color="orange">
          <Group justify="space-between">
            <Text size="sm">{t('undeclared', { count: unknown.length, names: unknown.join(', ') })}</Text>
            {!disabled && (
              <Button
                size="xs"
                variant="default"
                onClick={() =>
                  set('inputVariables', [
                    ...draft.inputVariables,
                    ...unknown.map((name) => ({ name, description: '', required: false, default: null })),
                  ])
                }
              >
                {t('declare')}
              </Button>
            )}
          </Group>
        </Alert>
      )}
    </>
  )
}

function Speech() {
  const t = useTranslations('agentForm')
  const { api } = useSession()
  const key = useKey()
  const { draft, disabled, set, errorAt } = useEditing()
  const nameOf = useLanguageName()
  const { data } = useQuery({
    queryKey: key('voices'),
    queryFn: () => api.listVoices(),
    staleTime: 60_000,
  })
  const voices = data?.items ?? []
  const { voice } = draft
  const chosen = [voice.ttsModel, voice.ttsVoice].join(SEPARATOR)
  const entry = voices.find((one) => one.ttsModel === voice.ttsModel && one.ttsVoice === voice.ttsVoice)
  const languages = [...new Set(voices.flatMap((one) => one.languages))]
  const error = errorAt('voice.ttsVoice') ?? errorAt('voice.ttsModel')
  const named = (tags: readonly string[]) => tags.map((value) => ({ value, label: nameOf(value) }))
  return (
    <Section title={t('speech')} paths={['voice', 'ttsOptions', 'callSettings.background']}>
      <NativeSelect
        label={t('voice')}
        disabled={disabled}
        {...(error === undefined ? {} : { error })}
        value={chosen}
        onChange={({ currentTarget }) => {
          const [ttsModel = '', ttsVoice = ''] = currentTarget.value.split(SEPARATOR)
          set('voice', { ...voice, ttsModel, ttsVoice })
        }}
        data={withStored(
          voices.map(({ ttsModel, ttsVoice }) => {
            const value = [ttsModel, ttsVoice].join(SEPARATOR)
            return { value, label: value }
          }),
          chosen,
        )}
      />
      <ChoicesField path="voice.languages" options={named(languages)} />
      <SimpleGrid cols={{ base: 1, xs: 2 }} className="level-fields">
        <ChoiceField
          path="voice.sttModel"
          options={(entry?.sttModels ?? []).map((value) => ({ value, label: value }))}
        />
        <ChoiceField path="voice.sttLanguage" options={named(voice.languages)} />
        <ChoiceField
          path="voice.sttMode"
          options={(['transcribe', 'translate', 'codemix'] as const).map((value) => ({
            value,
            label: t(`mode.${value}`),
          }))}
        />
        <NumberField
          path="ttsOptions.pace"
          min={entry?.paceMin ?? 0.25}
          max={entry?.paceMax ?? 4}
          step={0.05}
          decimalScale={2}
        />
        <ChoiceField
          path="callSettings.background.sound"
          options={(['none', 'office', 'cafe', 'call_center'] as const).map((value) => ({
            value,
            label: t(`sound.${value}`),
          }))}
        />
        <NumberField path="callSettings.background.volume" min={0} max={1} step={0.1} decimalScale={2} />
      </SimpleGrid>
    </Section>
  )
}

function Beginning() {
  const t = useTranslations('agentForm')
  const names = [
    ...['businessName', 'recordingNotice', 'openingLine', 'inboundOpeningLine', 'opening.'],
    ...['hangupLine', 'maxCallSeconds'],
  ]
  return (
    <Section title={t('beginning')} paths={names.map((name) => `callSettings.${name}`)} opened>
      <TextField path="callSettings.businessName" maxLength={120} />
      <LineField path="callSettings.openingLine" />
      <LineField path="callSettings.inboundOpeningLine" />
      <SwitchField path="callSettings.opening.protected" />
      <LineField path="callSettings.recordingNotice" />
      <LineField path="callSettings.hangupLine" />
      <NumberField path="callSettings.maxCallSeconds" min={30} max={3_600} />
    </Section>
  )
}

function TurnTaking() {
  const t = useTranslations('agentForm')
  return (
    <Section
      title={t('turns')}
      paths={['turnTaking', 'vocabulary', 'noiseSuppression'].map((name) => `callSettings.${name}`)}
    >
      <ChoiceField
        path="callSettings.turnTaking.preset"
        options={(['fast', 'balanced', 'patient'] as const).map((value) => ({
          value,
          label: t(`preset.${value}`),
        }))}
      />
      <SimpleGrid cols={{ base: 1, xs: 3 }} className="level-fields">
        <NumberField path="callSettings.turnTaking.maxWaitMs" min={300} max={4_000} step={100} optional />
        <NumberField
          path="callSettings.turnTaking.interruption.minMs"
          min={0}
          max={2_000}
          step={50}
          optional
        />
        <NumberField path="callSettings.turnTaking.interruption.minWords" min={0} max={5} />
      </SimpleGrid>
      <SwitchField path="callSettings.turnTaking.backchannels" />
      <SwitchField path="callSettings.noiseSuppression" />
      <WordsField path="callSettings.vocabulary" />
    </Section>
  )
}

function Silence() {
  const t = useTranslations('agentForm')
  return (
    <Section title={t('silence')} paths={['callSettings.nudges']}>
      <SwitchField path="callSettings.nudges.enabled" />
      <Entries
        path="callSettings.nudges.steps"
        most={10}
        nameOf={(_, place) => t('step', { place })}
        add={t('addStep')}
        fresh={() => ({ afterSeconds: 10, line: { text: '' } })}
      >
        {(at) => (
          <>
            <NumberField path={`${at}.afterSeconds`} min={1} max={300} />
            <LineField path={`${at}.line`} fixed />
          </>
        )}
      </Entries>
      <SwitchField path="callSettings.nudges.hangupAfter" />
    </Section>
  )
}

function Voicemail() {
  const t = useTranslations('agentForm')
  return (
    <Section title={t('voicemail')} paths={['callSettings.voicemail']}>
      <SwitchField path="callSettings.voicemail.enabled" />
      <NumberField path="callSettings.voicemail.windowSeconds" min={2} max={20} />
      <LineField path="callSettings.voicemail.message" />
    </Section>
  )
}

function Refusal() {
  const t = useTranslations('agentForm')
  return (
    <Section title={t('refusal')} paths={['callSettings.optOut']}>
      <SwitchField path="callSettings.optOut.phrases" />
      <KeyField path="callSettings.optOut.dtmfKey" />
    </Section>
  )
}

function KeyField({ path }: { readonly path: string }) {
  const t = useTranslations('agentForm')
  return (
    <ChoiceField path={path} none={t('noKey')} options={KEYS.map((value) => ({ value, label: value }))} />
  )
}

function Transfer() {
  const t = useTranslations('agentForm')
  const { api } = useSession()
  const { draft } = useEditing()
  const all = useOptions('destinations', async () =>
    (await api.listTransferDestinations({ query: { limit: 100 } })).items.map(({ id, label }) => ({
      value: id,
      label,
    })),
  )
  const { destinations } = draft.callSettings.transfer
  const nameOf = (id: string): string => all.find(({ value }) => value === id)?.label ?? id
  const chosen = destinations.map(({ destinationId: value }) => ({ value, label: nameOf(value) }))
  return (
    <Section title={t('transfer')} paths={['callSettings.transfer']}>
      {all.length === 0 && <Text size="sm">{t('noDestinations')}</Text>}
      <Entries<Draft['callSettings']['transfer']['destinations'][number]>
        path="callSettings.transfer.destinations"
        most={20}
        nameOf={({ destinationId }, place) =>
          destinationId === '' ? t('destination', { place }) : nameOf(destinationId)
        }
        add={t('addDestination')}
        fresh={() => ({ destinationId: all[0]?.value ?? '', fallbackDestinationId: null, when: '' })}
      >
        {(at) => (
          <>
            <ChoiceField path={`${at}.destinationId`} options={all} />
            <TextField path={`${at}.when`} rows={2} maxLength={1_000} />
            <ChoiceField path={`${at}.fallbackDestinationId`} options={all} none={t('nobody')} />
          </>
        )}
      </Entries>
      <ChoiceField path="callSettings.transfer.defaultDestinationId" options={chosen} none={t('noDefault')} />
      <ChoiceField
        path="callSettings.transfer.handoff"
        options={(['cold', 'warm'] as const).map((value) => ({ value, label: t(`handoff.${value}`) }))}
      />
      <SwitchField path="callSettings.transfer.blindTransfers" />
      <SwitchField path="callSettings.transfer.requestPhrases" />
      <KeyField path="callSettings.transfer.dtmfKey" />
      <LineField path="callSettings.transfer.preTransferLine" />
      <LineField path="callSettings.transfer.afterMissLine" />
      <NumberField path="callSettings.transfer.ringTimeoutSeconds" min={10} max={60} />
      <SwitchField path="callSettings.transfer.recordHumanSegment" />
    </Section>
  )
}

function Variables() {
  const t = useTranslations('agentForm')
  return (
    <Section title={t('variables')} paths={['inputVariables']}>
      <Text size="sm">{t('variablesHelp')}</Text>
      <Entries<Draft['inputVariables'][number]>
        path="inputVariables"
        most={50}
        nameOf={({ name }, place) => name || t('variable', { place })}
        add={t('addVariable')}
        fresh={() => ({ name: '', description: '', required: false, default: null })}
      >
        {(at) => (
          <>
            <TextField path={`${at}.name`} required maxLength={50} />
            <TextField path={`${at}.description`} maxLength={500} />
            <TextField path={`${at}.default`} optional maxLength={1_000} />
            <SwitchField path={`${at}.required`} />
          </>
        )}
      </Entries>
    </Section>
  )
}

const OUTPUT_TYPES = ['string', 'number', 'boolean', 'enum', 'date'] as const

function Results() {
  const t = useTranslations('agentForm')
  return (
    <Section title={t('results')} paths={['outputVariables', 'evaluationCriteria']}>
      <Text size="sm">{t('outputsHelp')}</Text>
      <Entries<Draft['outputVariables'][number]>
        path="outputVariables"
        most={30}
        nameOf={({ name }, place) => name || t('output', { place })}
        add={t('addOutput')}
        fresh={() => ({ name: '', description: '', type: 'string', enumValues: [] })}
      >
        {(at, { type }) => (
          <>
            <TextField path={`${at}.name`} required maxLength={50} />
            <TextField path={`${at}.description`} maxLength={500} />
            <ChoiceField
              path={`${at}.type`}
              options={OUTPUT_TYPES.map((value) => ({ value, label: t(`type.${value}`) }))}
            />
            {type === 'enum' && <WordsField path={`${at}.enumValues`} />}
          </>
        )}
      </Entries>
      <Text size="sm">{t('criteriaHelp')}</Text>
      <Entries<Draft['evaluationCriteria'][number]>
        path="evaluationCriteria"
        most={20}
        nameOf={({ name }, place) => name || t('criterion', { place })}
        add={t('addCriterion')}
        fresh={() => ({ name: '', prompt: '' })}
      >
        {(at) => (
          <>
            <TextField path={`${at}.name`} required maxLength={80} />
            <TextField path={`${at}.prompt`} rows={2} required maxLength={4_000} />
          </>
        )}
      </Entries>
    </Section>
  )
}
