import { Button, Checkbox, Group, Text, TextInput, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { useSession } from '../session.js'
import { Dialog } from './Dialog.js'
import { List, useAction, useList } from './List.js'
import { Problem } from './Problem.js'
import { type Column, Rows } from './Rows.js'
import { State, useWord } from './Word.js'

type Delivery = Item<'listWebhookDeliveries'>

/** Lists what was sent to the endpoints, with the attempts and the last answer, and sends one or several again. */
export function Deliveries({ urls }: { readonly urls: ReadonlyMap<string, string> }) {
  const t = useTranslations('deliveries')
  const tMore = useTranslations('webhookView')
  const { api, canManage, environment } = useSession()
  const { moment, time } = useFormat()
  const word = useWord()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [shown, setShown] = useState<Delivery | null>(null)
  const deliveries = useList(['webhooks', 'deliveries'], (cursor) =>
    api.listWebhookDeliveries({ query: { limit: 20, cursor } }),
  )
  const repeat = useAction(
    async (ids: readonly string[]) => {
      // One after the other, so that the first refusal is the one that is shown.
      for (const deliveryId of ids) await api.redeliverWebhook({ deliveryId })
    },
    () => setChosen(new Set()),
  )
  const [since, setSince] = useState('')
  const all = useAction(async (from: string) => {
    const body = { since: new Date(from).toISOString() }
    let sent = 0
    for (const id of urls.keys()) {
      for (let more = true; more; ) {
        const done = await api.redeliverFailed({ id, body })
        sent += done.sent
        more = done.more
      }
    }
    return sent
  })
  const answer = (status: number | null, error: string | null, durationMs: number | null): string =>
    [
      status,
      error === null || error === 'status' ? null : word(error),
      durationMs === null ? null : `${durationMs} ms`,
    ]
      .filter((part) => part !== null)
      .join(', ')
  const toggle = (id: string, on: boolean): void => {
    const next = new Set(chosen)
    if (on) next.add(id)
    else next.delete(id)
    setChosen(next)
  }
  const box: Column<Delivery> = {
    title: tMore('choose'),
    cell: ({ id, type, createdAt }) => (
      <Checkbox
        aria-label={tMore('chooseOf', { type, time: time(createdAt) })}
        checked={chosen.has(id)}
        onChange={({ currentTarget }) => toggle(id, currentTarget.checked)}
      />
    ),
  }
  return (
    <>
      <Title order={2} size="h3">
        {t('title')}
      </Title>
      {repeat.error !== null && <Problem error={repeat.error} />}
      {all.error !== null && <Problem error={all.error} />}
      {canManage && (
        <Group gap="sm" align="end">
          <TextInput
            type="datetime-local"
            size="xs"
            label={tMore('repeatSince')}
            value={since}
            onChange={({ currentTarget }) => setSince(currentTarget.value)}
          />
          <Button
            size="xs"
            variant="default"
            disabled={since === ''}
            loading={all.isPending}
            onClick={() => all.mutate(since)}
          >
            {tMore('repeatAll')}
          </Button>
          {all.data !== undefined && (
            <Text size="sm" role="status">
              {tMore('repeated', { count: all.data })}
            </Text>
          )}
        </Group>
      )}
      <List query={deliveries} empty={t('empty')}>
        {(items) => {
          const failed = items.filter(({ status }) => status === 'failed').map(({ id }) => id)
          return (
            <>
              {canManage && (
                <Group gap="sm">
                  <Button
                    size="xs"
                    disabled={chosen.size === 0}
                    loading={repeat.isPending}
                    onClick={() => repeat.mutate([...chosen])}
                  >
                    {tMore('repeatChosen', { count: chosen.size })}
                  </Button>
                  {failed.length > 0 && (
                    <Button size="xs" variant="default" onClick={() => setChosen(new Set(failed))}>
                      {tMore('chooseFailed', { count: failed.length })}
                    </Button>
                  )}
                </Group>
              )}
              <Rows
                label={t('title')}
                rows={items}
                idOf={({ id }) => id}
                columns={[
                  ...(canManage ? [box] : []),
                  {
                    title: t('when'),
                    cell: ({ createdAt }) => (
                      <span className="once" title={time(createdAt)}>
                        {moment(createdAt)}
                      </span>
                    ),
                  },
                  {
                    title: t('event'),
                    cell: ({ type, eventId }) => (
                      <Link to="/$environment/events" params={{ environment }} search={{ id: eventId }}>
                        {type}
                      </Link>
                    ),
                  },
                  { title: t('endpoint'), cell: ({ endpointId }) => urls.get(endpointId) ?? endpointId },
                  {
                    title: t('state'),
                    cell: ({ status, nextAttemptAt }) => (
                      <>
                        <State value={status} />
                        {nextAttemptAt !== null && (
                          <Text size="xs">{tMore('next', { time: moment(nextAttemptAt) })}</Text>
                        )}
                      </>
                    ),
                  },
                  {
                    title: t('attempts'),
                    align: 'right',
                    cell: (delivery) =>
                      delivery.attemptLog.length === 0 ? (
                        delivery.attempts
                      ) : (
                        <Button
                          size="xs"
                          variant="default"
                          aria-label={t('attemptsOf', {
                            count: delivery.attempts,
                            type: delivery.type,
                            time: time(delivery.createdAt),
                          })}
                          onClick={() => setShown(delivery)}
                        >
                          {delivery.attempts}
                        </Button>
                      ),
                  },
                  {
                    title: t('answer'),
                    cell: ({ lastStatus, lastError, lastDurationMs }) =>
                      answer(lastStatus, lastError, lastDurationMs),
                  },
                ]}
              />
            </>
          )
        }}
      </List>
      {shown !== null && (
        <Dialog
          title={t('attemptsOf', { count: shown.attempts, type: shown.type, time: time(shown.createdAt) })}
          close={() => setShown(null)}
          size="lg"
        >
          <Rows
            label={t('attempts')}
            rows={shown.attemptLog}
            idOf={({ attempt }) => String(attempt)}
            columns={[
              { title: t('attempt'), align: 'right', cell: ({ attempt }) => attempt },
              { title: t('when'), cell: ({ at }) => <span className="once">{time(at)}</span> },
              {
                title: t('answerOf'),
                cell: ({ status, error, durationMs }) => answer(status, error, durationMs),
              },
            ]}
          />
        </Dialog>
      )}
    </>
  )
}
