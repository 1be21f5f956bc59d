import {
  Alert,
  Button,
  Code,
  Group,
  MultiSelect,
  NativeSelect,
  NumberInput,
  Stack,
  Tabs,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { UpdateAgentBody } from '../../../../clients/typescript/generated/types.js'
import type { Result } from '../api.js'
import { useFormat, useLanguageName } from '../i18n.js'
import { FormDialog } from '../parts/Dialog.js'
import { TextDifference } from '../parts/Differences.js'
import { Loaded, Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { TalkPanel } from '../parts/TalkPanel.js'
import { TestPanel } from '../parts/TestPanel.js'
import { useToast } from '../parts/toast.js'
import { useKey, useSession } from '../session.js'

type AgentView = Result<'readAgent'>
type Version = Result<'readAgentVersion'>

/** The fields of the form. An agent has more; the form leaves those as they are. */
interface Fields {
  readonly name: string
  readonly systemPrompt: string
  readonly llmModel: string
  /** Model and voice. */
  readonly voice: string
  readonly languages: readonly string[]
  readonly businessName: string
  readonly openingLine: string
  readonly inboundOpeningLine: string
  readonly hangupLine: string
  readonly maxCallSeconds: number
}

const SEPARATOR = ' · '

type Shared = Pick<Version, 'systemPrompt' | 'llmModel' | 'voice' | 'callSettings'>

function fieldsOf(agent: Shared & { readonly name?: string }): Fields {
  const { systemPrompt, llmModel, voice, callSettings } = agent
  return {
    name: agent.name ?? '',
    systemPrompt,
    llmModel,
    voice: [voice.ttsModel, voice.ttsVoice].join(SEPARATOR),
    languages: voice.languages,
    businessName: callSettings.businessName,
    openingLine: callSettings.openingLine?.text ?? '',
    inboundOpeningLine: callSettings.inboundOpeningLine?.text ?? '',
    hangupLine: callSettings.hangupLine?.text ?? '',
    maxCallSeconds: callSettings.maxCallSeconds,
  }
}

function changeOf(fields: Fields): UpdateAgentBody {
  const [ttsModel = '', ttsVoice = ''] = fields.voice.split(SEPARATOR)
  const line = (text: string) => (text.trim() === '' ? null : { text })
  return {
    name: fields.name,
    systemPrompt: fields.systemPrompt,
    llmModel: fields.llmModel,
    voice: {
      ttsModel,
      ttsVoice,
      languages: fields.languages as NonNullable<UpdateAgentBody['voice']>['languages'],
    },
    callSettings: {
      businessName: fields.businessName,
      openingLine: line(fields.openingLine),
      inboundOpeningLine: line(fields.inboundOpeningLine),
      hangupLine: line(fields.hangupLine),
      maxCallSeconds: fields.maxCallSeconds,
    },
  }
}

/** One agent: its draft, what is live, and its versions. */
export function Agent() {
  const t = useTranslations('agent')
  const { id } = useParams({ from: '/$environment/agents/$id' })
  const { api, environment } = useSession()
  const key = useKey()
  const agent = useQuery({ queryKey: key('agent', id), queryFn: () => api.readAgent({ id }) })
  return (
    <Page
      title={agent.data?.name ?? ''}
      actions={
        <Link to="/$environment/agents" params={{ environment }}>
          {t('back')}
        </Link>
      }
    >
      <Loaded query={agent} height={500}>
        {(data) => (
          <Tabs defaultValue="settings" keepMounted={false}>
            <Tabs.List>
              <Tabs.Tab value="settings">{t('settings')}</Tabs.Tab>
              <Tabs.Tab value="versions">{t('versions')}</Tabs.Tab>
              <Tabs.Tab value="json">JSON</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="settings" pt="md">
              <div className="editor">
                <Editor key={data.id} agent={data} />
                <Stack className="beside">
                  <TalkPanel agent={data} />
                  <TestPanel agentId={data.id} version={data.publishedVersion} />
                </Stack>
              </div>
            </Tabs.Panel>
            <Tabs.Panel value="versions" pt="md">
              <Versions agent={data} />
            </Tabs.Panel>
            <Tabs.Panel value="json" pt="md">
              <Code block tabIndex={0} className="wide">
                {JSON.stringify(data, null, 2)}
              </Code>
            </Tabs.Panel>
          </Tabs>
        )}
      </Loaded>
    </Page>
  )
}

function Editor({ agent }: { readonly agent: AgentView }) {
  const t = useTranslations('agent')
  const tCommon = useTranslations('common')
  const { api, canWrite } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const toast = useToast()
  const stored = fieldsOf(agent)
  const [changed, setChanged] = useState<Partial<Fields>>({})
  const fields: Fields = { ...stored, ...changed }
  const voices = useQuery({ queryKey: key('voices'), queryFn: () => api.listVoices(), staleTime: 60_000 })
  const models = useQuery({ queryKey: key('models'), queryFn: () => api.listModels(), staleTime: 60_000 })
  const save = useMutation({
    mutationFn: () => api.updateAgent({ id: agent.id, body: changeOf(fields) }),
    onSuccess: (saved) => {
      queries.setQueryData(key('agent', agent.id), saved)
      setChanged({})
      toast(tCommon('saved'))
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate()
  }
  const text = (
    name: 'name' | 'systemPrompt' | 'businessName' | 'openingLine' | 'inboundOpeningLine' | 'hangupLine',
  ) => ({
    name,
    value: fields[name],
    disabled: !canWrite,
    onChange: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
      setChanged({ ...changed, [name]: currentTarget.value }),
  })
  const dirty = Object.keys(changed).length > 0
  const nameOf = useLanguageName()
  const languages = [...new Set(voices.data?.items.flatMap((voice) => voice.languages) ?? fields.languages)]
  return (
    <Stack>
      {!dirty && <Publish agent={agent} />}
      {save.error !== null && <Problem error={save.error} />}
      <form onSubmit={submit}>
        <Stack>
          <TextInput label={tCommon('name')} required maxLength={80} {...text('name')} />
          <Textarea
            label={t('prompt')}
            description={t('promptHint')}
            autosize
            minRows={8}
            {...text('systemPrompt')}
          />
          <NativeSelect
            label={t('model')}
            disabled={!canWrite}
            value={fields.llmModel}
            onChange={({ currentTarget }) => setChanged({ ...changed, llmModel: currentTarget.value })}
            data={withCurrent(
              models.data?.items.map(({ llmModel, label, available }) => ({
                value: llmModel,
                label: available ? label : t('unavailable', { name: label }),
              })) ?? [],
              fields.llmModel,
            )}
          />
          <NativeSelect
            label={t('voice')}
            disabled={!canWrite}
            value={fields.voice}
            onChange={({ currentTarget }) => setChanged({ ...changed, voice: currentTarget.value })}
            data={withCurrent(
              voices.data?.items.map(({ ttsModel, ttsVoice }) => {
                const value = [ttsModel, ttsVoice].join(SEPARATOR)
                return { value, label: value }
              }) ?? [],
              fields.voice,
            )}
          />
          <MultiSelect
            label={t('languages')}
            disabled={!canWrite}
            value={[...fields.languages]}
            onChange={(value) => setChanged({ ...changed, languages: value })}
            data={languages.map((value) => ({ value, label: nameOf(value) }))}
          />
          <TextInput label={t('business')} {...text('businessName')} />
          <TextInput label={t('opening')} {...text('openingLine')} />
          <TextInput label={t('openingInbound')} {...text('inboundOpeningLine')} />
          <TextInput label={t('hangup')} {...text('hangupLine')} />
          <NumberInput
            label={t('maxSeconds')}
            min={30}
            disabled={!canWrite}
            value={fields.maxCallSeconds}
            onChange={(value) => setChanged({ ...changed, maxCallSeconds: Number(value) })}
          />
          {!canWrite && <Text size="sm">{tCommon('notAllowed')}</Text>}
          {dirty && (
            <Alert color="orange">
              <Group justify="space-between">
                <Text size="sm">{t('unsaved')}</Text>
                <Group gap="sm">
                  <Button variant="default" onClick={() => setChanged({})}>
                    {t('discard')}
                  </Button>
                  <Button type="submit" loading={save.isPending}>
                    {tCommon('save')}
                  </Button>
                </Group>
              </Group>
            </Alert>
          )}
        </Stack>
      </form>
    </Stack>
  )
}

/** Keeps the stored value selectable when the catalogue does not list it. */
function withCurrent(
  options: readonly { readonly value: string; readonly label: string }[],
  current: string,
) {
  return options.some(({ value }) => value === current)
    ? [...options]
    : [{ value: current, label: current }, ...options]
}

/** Says what is not live yet, and publishes it after a look at the differences. */
function Publish({ agent }: { readonly agent: AgentView }) {
  const t = useTranslations('agent')
  const { api, canWrite } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const toast = useToast()
  const [asking, setAsking] = useState(false)
  const [note, setNote] = useState('')
  const live = agent.publishedVersion
  const next = (agent.latestVersion ?? 0) + 1
  const publish = useMutation({
    mutationFn: () => api.publishAgent({ id: agent.id, body: { note: note === '' ? null : note } }),
    onSuccess: ({ version, warnings }) => {
      setAsking(false)
      for (const { code } of warnings ?? [])
        if (code === 'recording_notice_missing') toast(t('noticeMissing'))
      void queries.invalidateQueries({ queryKey: key() })
      toast(t('published', { version }))
    },
  })
  if (live !== null && !agent.hasUnpublishedChanges) return null
  return (
    <Alert color="orange">
      <Group justify="space-between">
        <Text size="sm">{live === null ? t('neverLive') : t('notLive')}</Text>
        {canWrite && <Button onClick={() => setAsking(true)}>{t('publish')}</Button>}
      </Group>
      {asking && (
        <FormDialog
          title={t('publishTitle', { version: next })}
          close={() => setAsking(false)}
          size="lg"
          action={publish}
          submit={t('publish')}
        >
          {live !== null && <Differences agent={agent} version={live} />}
          <TextInput
            label={t('note')}
            value={note}
            onChange={({ currentTarget }) => setNote(currentTarget.value)}
          />
        </FormDialog>
      )}
    </Alert>
  )
}

function Differences({ agent, version }: { readonly agent: AgentView; readonly version: number }) {
  const t = useTranslations('agent')
  const { api } = useSession()
  const key = useKey()
  const live = useQuery({
    queryKey: key('agent', agent.id, 'version', version),
    queryFn: () => api.readAgentVersion({ id: agent.id, version: String(version) }),
  })
  return (
    <Loaded query={live}>
      {(published) => {
        const before = { ...fieldsOf(published), name: agent.name }
        const after = fieldsOf(agent)
        const names = (Object.keys(after) as (keyof Fields)[]).filter(
          (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
        )
        if (names.length === 0) return <Text size="sm">{t('noDiff')}</Text>
        return (
          <div className="wide">
            <Text fw={700}>{t('diff', { version })}</Text>
            {names.map((name) => (
              <section key={name}>
                <Text size="sm" fw={500}>
                  {t.has(`fields.${name}`) ? t(`fields.${name}`) : name}
                </Text>
                <TextDifference before={String(before[name])} after={String(after[name])} />
              </section>
            ))}
          </div>
        )
      }}
    </Loaded>
  )
}

function Versions({ agent }: { readonly agent: AgentView }) {
  const t = useTranslations('agent')
  const tAgents = useTranslations('agents')
  const { api, canWrite } = useSession()
  const { time } = useFormat()
  const key = useKey()
  const queries = useQueryClient()
  const toast = useToast()
  const versions = useQuery({
    queryKey: key('agent', agent.id, 'versions', agent.latestVersion),
    queryFn: () => api.listAgentVersions({ id: agent.id }),
  })
  const rollback = useMutation({
    mutationFn: (version: number) => api.rollbackAgent({ id: agent.id, body: { version } }),
    onSuccess: ({ version }) => {
      void queries.invalidateQueries({ queryKey: key() })
      toast(t('published', { version }))
    },
  })
  return (
    <Loaded query={versions}>
      {({ items }) => (
        <Stack>
          {rollback.error !== null && <Problem error={rollback.error} />}
          {items.map(({ version, createdAt, note }) => (
            <Group key={version} justify="space-between">
              <Text size="sm">
                {tAgents('version', { version })}, {time(createdAt)} {note}
              </Text>
              {canWrite && version !== agent.publishedVersion && (
                <Button variant="default" size="xs" onClick={() => rollback.mutate(version)}>
                  {t('rollback')}
                </Button>
              )}
            </Group>
          ))}
        </Stack>
      )}
    </Loaded>
  )
}
