/**
 * Twenty branches with a webhook each, to which events are published at a steady rate. They are in every
 * part.
 */
import { type GatewayUnderTest, type Opening, startEmptyGateway } from './gateway.ts'
import type { Receiver } from './receiver.ts'
import type { Source } from './source.ts'
import type { Stage } from './stage.ts'
import { publishSteadily } from './steady-publishing.ts'

const count = 20

export interface Branches {
  readonly gateway: GatewayUnderTest
  readonly branchIds: readonly number[]
  /** Answers the milliseconds from publishing to arrival of each. */
  publish(perSecond: number, durationMs: number): Promise<number[]>
}

export async function openBranches(
  stage: Stage,
  source: Source,
  receiver: Receiver,
  opening: Opening = {},
): Promise<Branches> {
  const gateway = await startEmptyGateway(stage, { ...opening, source })
  const branchIds: number[] = []
  for (let n = 0; n < count; n++) branchIds.push(await gateway.makeBranch([`${receiver.origin}/${n}`]))
  const publisher = await gateway.makePublisher()
  return {
    gateway,
    branchIds,
    publish: (perSecond, durationMs) =>
      publishSteadily(gateway, publisher, receiver, { branchIds, perSecond, durationMs, arrivalsEach: 1 }),
  }
}
