import { Button, Card, Code, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { useKey, useSession } from '../session.js'
import { Confirm, Form } from './Dialog.js'
import { useFields } from './fields.js'
import { saveFile } from './files.js'
import { useAction } from './List.js'
import { Loaded } from './Page.js'
import { Problem } from './Problem.js'
import { Facts } from './Rows.js'
import { State, useWord } from './Word.js'

const LIVE_MS = 2_000

/** Erases what is stored about a person, and hands out the chain of sealed records. */
export function PersonalData() {
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Erase />
      <Chain />
    </SimpleGrid>
  )
}

function Erase() {
  const t = useTranslations('data')
  const tCommon = useTranslations('common')
  const { api, canManage } = useSession()
  const key = useKey()
  const { ist } = useFormat()
  const word = useWord()
  const form = useFields({ e164: '+91' })
  const [asking, setAsking] = useState(false)
  const { e164 } = form.values
  const start = useAction(
    () => api.startErasure({ body: { e164 } }),
    () => setAsking(false),
  )
  const ask = { mutate: () => setAsking(true), error: null, isPending: false }
  const id = start.data?.id ?? null
  const erasure = useQuery({
    queryKey: key('erasure', id),
    queryFn: () => api.readErasure({ id: id ?? '' }),
    enabled: id !== null,
    refetchInterval: ({ state: { data } }) => (data?.state === 'done' ? false : LIVE_MS),
  })
  return (
    <Card withBorder>
      <Stack>
        <Title order={2} size="h4">
          {t('erase')}
        </Title>
        <Text size="sm">{t('text')}</Text>
        {canManage ? (
          <Form action={ask} submit={t('start')}>
            <TextInput label={t('number')} type="tel" required {...form.text('e164')} />
          </Form>
        ) : (
          <Text size="sm">{tCommon('onlyAdmins')}</Text>
        )}
        {id !== null && (
          <Loaded query={erasure} height={60}>
            {({ state, delayReason, scheduledFor, calls, records }) => (
              <div role="status">
                <State value={state} />
                <Text size="sm">{t('calls', { count: calls, records })}</Text>
                {delayReason !== null && <Text size="sm">{word(delayReason)}</Text>}
                {scheduledFor !== null && <Text size="sm">{t('when', { time: ist(scheduledFor) })}</Text>}
              </div>
            )}
          </Loaded>
        )}
      </Stack>
      {asking && (
        <Confirm
          title={t('erase')}
          text={t('sure', { number: e164 })}
          label={t('start')}
          action={start}
          close={() => setAsking(false)}
        />
      )}
    </Card>
  )
}

function Chain() {
  const t = useTranslations('data')
  const { api } = useSession()
  const key = useKey()
  const { count, time } = useFormat()
  const head = useQuery({ queryKey: key('evidence-head'), queryFn: () => api.readEvidenceHead() })
  const save = useMutation({
    mutationFn: async () => saveFile(await api.exportEvidence(), 'evidence.jsonl'),
  })
  return (
    <Card withBorder>
      <Stack>
        <Title order={2} size="h4">
          {t('chain')}
        </Title>
        <Text size="sm">{t('chainText')}</Text>
        <Loaded query={head} height={120}>
          {({ seq, hash, sealedAt, publicKey }) => (
            <>
              <Facts facts={[[t('head'), `${count(seq)}, ${time(sealedAt)}`]]} />
              <Text size="sm">{t('hash')}</Text>
              <Code block tabIndex={0} className="wide">
                {hash}
              </Code>
              <Text size="sm">{t('key')}</Text>
              <Code block tabIndex={0} className="wide">
                {publicKey}
              </Code>
            </>
          )}
        </Loaded>
        {save.error !== null && <Problem error={save.error} />}
        <div>
          <Button variant="default" onClick={() => save.mutate()} loading={save.isPending}>
            {t('export')}
          </Button>
        </div>
      </Stack>
    </Card>
  )
}
