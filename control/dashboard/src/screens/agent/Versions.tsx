import { Alert, Button, Card, Group, NativeSelect, Stack, Text, TextInput, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Item } from '../../api.js'
import { useFormat } from '../../i18n.js'
import { Confirm, FormDialog } from '../../parts/Dialog.js'
import { TextDifference } from '../../parts/Differences.js'
import { List, useList } from '../../parts/List.js'
import { useNames } from '../../parts/lookups.js'
import { Loaded } from '../../parts/Page.js'
import { useToast } from '../../parts/toast.js'
import { useThings, Word } from '../../parts/Word.js'
import { useKey, useSession } from '../../session.js'
import { type AgentView, differences, type Settings, settingsOf } from './config.js'
import { useFieldName } from './fields.js'

type Version = Item<'listAgentVersions'>

function useVersion(agent: AgentView, version: number | null) {
  const { api } = useSession()
  const key = useKey()
  return useQuery({
    queryKey: key('agent', agent.id, 'version', version),
    queryFn: () => api.readAgentVersion({ id: agent.id, version: String(version) }),
    enabled: version !== null,
    // A version never changes.
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** Says how much is not live yet, and publishes it after a look at the differences. */
export function Publish({ agent }: { readonly agent: AgentView }) {
  const t = useTranslations('agent')
  const tVersions = useTranslations('agentVersions')
  const { api, canWrite } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const toast = useToast()
  const [asking, setAsking] = useState(false)
  const [note, setNote] = useState('')
  const live = agent.publishedVersion
  const published = useVersion(agent, agent.hasUnpublishedChanges ? live : null)
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
  const count =
    published.data === undefined ? 0 : differences(settingsOf(published.data), settingsOf(agent)).length
  const says =
    live === null ? t('neverLive') : count === 0 ? t('notLive') : tVersions('unpublished', { count })
  return (
    <Alert color="orange">
      <Group justify="space-between">
        <Text size="sm">{says}</Text>
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
          {live !== null && (
            <Loaded query={published}>
              {(version) => (
                <>
                  <Text fw={700}>{t('diff', { version: live })}</Text>
                  <Changes before={version} after={agent} />
                </>
              )}
            </Loaded>
          )}
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

/** All settings that differ, each word by word. */
function Changes({ before, after }: { readonly before: Settings; readonly after: Settings }) {
  const t = useTranslations('agentVersions')
  const nameOf = useFieldName()
  const found = differences(settingsOf(before), settingsOf(after))
  return (
    <div className="wide">
      <Text size="sm" role="status">
        {t('changes', { count: found.length })}
      </Text>
      {found.map(({ path, before: old, after: now }) => (
        <section key={path}>
          <Text size="sm" fw={500}>
            {nameOf(path)} <code>{path}</code>
          </Text>
          <TextDifference before={old ?? ''} after={now ?? ''} />
        </section>
      ))}
    </div>
  )
}

const DRAFT = 'draft'

/** The versions with their times and notes, and the differences of any two of them. */
export function Versions({ agent }: { readonly agent: AgentView }) {
  const t = useTranslations('agent')
  const tAgents = useTranslations('agents')
  const tVersions = useTranslations('agentVersions')
  const { api, canWrite } = useSession()
  const { time } = useFormat()
  const key = useKey()
  const queries = useQueryClient()
  const toast = useToast()
  const names = useNames()
  const { thing } = useThings()
  const [back, setBack] = useState<number | null>(null)
  const versions = useList(['agent', agent.id, 'versions', agent.latestVersion], (cursor) =>
    api.listAgentVersions({ id: agent.id, query: { cursor } }),
  )
  const rollback = useMutation({
    mutationFn: (version: number) => api.rollbackAgent({ id: agent.id, body: { version } }),
    onSuccess: ({ version }) => {
      setBack(null)
      void queries.invalidateQueries({ queryKey: key() })
      toast(t('published', { version }))
    },
  })
  return (
    <Stack>
      <List query={versions} empty={t('neverLive')}>
        {(items) => (
          <>
            {items.map(({ version, createdAt, createdBy, note }) => (
              <Group key={version} justify="space-between">
                <div>
                  <Text size="sm">
                    {tAgents('version', { version })}, {time(createdAt)}{' '}
                    {version === agent.publishedVersion && <Word color="green">{tVersions('live')}</Word>}
                  </Text>
                  {createdBy !== null && (
                    <Text size="sm" c="dimmed">
                      {tVersions('by', { name: names.get(createdBy.id) ?? thing(createdBy.type) })}
                    </Text>
                  )}
                  {note !== null && <Text size="sm">{note}</Text>}
                </div>
                {canWrite && version !== agent.publishedVersion && (
                  <Button variant="default" size="xs" onClick={() => setBack(version)}>
                    {t('rollback')}
                  </Button>
                )}
              </Group>
            ))}
            <Compare agent={agent} versions={items} />
          </>
        )}
      </List>
      {back !== null && (
        <Confirm
          title={tVersions('rollbackTitle', { version: back })}
          text={tVersions('rollbackText', { version: back })}
          label={t('rollback')}
          action={{ ...rollback, mutate: () => rollback.mutate(back) }}
          close={() => setBack(null)}
        />
      )}
    </Stack>
  )
}

function Compare({ agent, versions }: { readonly agent: AgentView; readonly versions: readonly Version[] }) {
  const t = useTranslations('agentVersions')
  const tAgents = useTranslations('agents')
  const [chosen, setChosen] = useState({ before: String(versions[0]?.version), after: DRAFT })
  const settings = (name: string): Settings =>
    versions.find(({ version }) => String(version) === name) ?? agent
  const options = [
    { value: DRAFT, label: t('draft') },
    ...versions.map(({ version }) => ({ value: String(version), label: tAgents('version', { version }) })),
  ]
  return (
    <Card withBorder component="section" aria-label={t('compare')}>
      <Stack>
        <Title order={2} size="h4">
          {t('compare')}
        </Title>
        <Group>
          {(['before', 'after'] as const).map((side) => (
            <NativeSelect
              key={side}
              label={t(side)}
              data={options}
              value={chosen[side]}
              onChange={({ currentTarget }) => setChosen({ ...chosen, [side]: currentTarget.value })}
            />
          ))}
        </Group>
        <Changes before={settings(chosen.before)} after={settings(chosen.after)} />
      </Stack>
    </Card>
  )
}
