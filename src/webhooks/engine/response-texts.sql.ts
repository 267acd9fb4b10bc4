/**
 * What was said in attempt `o`, as long as that is kept. Written on the day of its entry or later; by a clock
 * that is behind, on the day before. It takes `part`.
 */
export const answerOf = (o: string) => `LEFT JOIN LATERAL (
     SELECT a.detail, a.response FROM answers a WHERE a.part = :part AND a.webhook_id = ${o}.webhook_id
       AND a.said = ${o}.said
       AND a.day >= coalesce((SELECT max(d.day) FROM days d WHERE d.day < ${o}.day), 0) LIMIT 1) said ON true`
