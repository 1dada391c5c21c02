/** What "Run the example" runs: a table and a chart, from nothing but what the sandbox has. */
export const EXAMPLE = {
  title: 'A first example',
  code: `import numpy as np
import pandas as pd
import matplotlib.pyplot as plt

# Two years of made-up temperatures, warmer in summer
days = pd.date_range("2024-01-01", periods=730)
season = 11 - 9 * np.cos(2 * np.pi * days.day_of_year / 365.25)
weather = pd.DataFrame(
    {"temperature": season + np.random.default_rng(7).normal(0, 2.5, len(days))}, index=days
)
print(f"{len(weather)} days, from {weather.index[0]:%d %B %Y} to {weather.index[-1]:%d %B %Y}")

ax = weather["temperature"].plot(figsize=(9, 3.6), lw=0.6, alpha=0.6, label="each day")
weather["temperature"].rolling(30, center=True).mean().plot(ax=ax, lw=2.2, label="30-day mean")
ax.set_ylabel("°C")
ax.legend(frameon=False)
plt.tight_layout()

weather.resample("QS").agg(["mean", "min", "max"]).round(1)
`,
};
